import { Cluster, Redis } from "ioredis";
import { Cluster as Cluster5, Redis as Redis5 } from "ioredis-5";
import { Redis as Valkey, Cluster as ValkeyCluster } from "iovalkey";
import * as nodeRedis from "redis";
import * as nodeRedis5 from "redis-5";
import { IoredisConnection } from "../src/clients/ioredis.ts";
import { NodeRedisConnection } from "../src/clients/node-redis.ts";
import type { Connection } from "../src/connection.ts";
import type { CredentialsProvider } from "../src/credentials.ts";
import { connectionOf } from "../src/open-connection.ts";
import type { RedisClient } from "../src/options.ts";
import { RedisDriver } from "../src/redis-driver.ts";
import { upstashClient } from "./upstash-server.ts";

interface Address {
  readonly host: string;
  readonly port: number;
}

interface ClusterLocation {
  readonly startupNodes: Address[];
  readonly natMap: Record<string, Address>;
}

interface SentinelLocation {
  readonly sentinels: Address[];
  readonly name: string;
  readonly natMap: Record<string, Address>;
}

/** The URL of a test server that speaks Upstash's protocol. */
interface UpstashLocation {
  readonly upstash: string;
}

/** The address of a server, a cluster, a server with Sentinel, or a service over HTTP. Plain data, because it is sent to child processes. */
export type ServerLocation = { readonly url: string } | ClusterLocation | SentinelLocation | UpstashLocation;

/** A namespace at a location, and the client that connects to it. */
export type Namespace = ServerLocation & { readonly keyPrefix: string; readonly client: ClientName };

/** The tested clients, which must all pass the suite. */
export type ClientName = keyof typeof clients;

export interface TestedClient {
  to(url: URL, credentials?: CredentialsProvider): Connection;
  /** A caller's client with the timeouts that the documentation recommends. Never connects. */
  at(location: ClusterLocation | SentinelLocation): { client: RedisClient; close(): void };
  /** A caller's client for a URL, with the options that it has by default. Only its `use` connects. */
  for(url: string): { client: RedisClient; use(): Promise<unknown>; close(): void };
}

function ioredis(Client: typeof Redis, ClusterClient: typeof Cluster): TestedClient {
  return {
    to: (url, credentials) => IoredisConnection.to(url, Client, credentials),
    at(location) {
      const options = { lazyConnect: true, connectTimeout: 1_000 };
      const client =
        "sentinels" in location
          ? new Client({ ...location, ...options })
          : new ClusterClient(location.startupNodes, {
              natMap: location.natMap,
              lazyConnect: true,
              redisOptions: options,
            });
      return { client, close: () => client.disconnect() };
    },
    for(url) {
      const client = new Client(url, { lazyConnect: true });
      client.on("error", () => undefined);
      return { client, use: () => client.ping(), close: () => client.disconnect() };
    },
  };
}

function ofNodeRedis(library: typeof nodeRedis): TestedClient {
  return {
    to: (url, credentials) => NodeRedisConnection.to(url, library.createClient, credentials),
    at(location) {
      const options = { socket: { connectTimeout: 1_000 } };
      const { natMap: nodeAddressMap } = location;
      const client =
        "sentinels" in location
          ? library.createSentinel({
              name: location.name,
              sentinelRootNodes: location.sentinels,
              nodeAddressMap,
              nodeClientOptions: options,
              sentinelClientOptions: options,
            })
          : library.createCluster({
              rootNodes: location.startupNodes.map((socket) => ({ socket })),
              nodeAddressMap,
              defaults: options,
            });
      // It never connects, so it does not report its end by itself.
      return { client, close: () => void client.emit("end") };
    },
    for(url) {
      const client = library.createClient({ url });
      client.on("error", () => undefined);
      return {
        client,
        async use() {
          if (!client.isOpen) await client.connect();
          return await client.ping();
        },
        close: () => (client.isOpen ? client.destroy() : void client.emit("end")),
      };
    },
  };
}

/** Types of the older versions differ from the newest one's only in parts that these tests do not use. */
export const clients = {
  "ioredis 6": ioredis(Redis, Cluster),
  "ioredis 5": ioredis(Redis5 as unknown as typeof Redis, Cluster5 as unknown as typeof Cluster),
  iovalkey: ioredis(Valkey as unknown as typeof Redis, ValkeyCluster as unknown as typeof Cluster),
  "node-redis 6": ofNodeRedis(nodeRedis),
  "node-redis 5": ofNodeRedis(nodeRedis5 as unknown as typeof nodeRedis),
};

/** A driver on a namespace. Imported by child processes. */
export function connect(data: unknown): RedisDriver {
  return open(data as Namespace).driver;
}

/** A driver, and its connection. `wrap` may watch what the driver sends. */
export function open(
  { client: name, keyPrefix, ...location }: Namespace,
  wrap: (connection: Connection) => Connection = (connection) => connection,
): { connection: Connection; driver: RedisDriver } {
  if ("upstash" in location) {
    const connection = connectionOf(undefined, upstashClient(location.upstash));
    return { connection, driver: new RedisDriver(wrap(connection), keyPrefix) };
  }
  if ("url" in location) {
    const connection = clients[name].to(new URL(location.url));
    return { connection, driver: new RedisDriver(wrap(connection), keyPrefix) };
  }
  const { client, close } = clients[name].at(location);
  const connection = connectionOf(undefined, client);
  const driver = new RedisDriver(wrap(connection), keyPrefix);
  // The test must close a client that it passes in. The suite closes only the driver, so the driver closes the client.
  driver.close = async () => close();
  return { connection, driver };
}
