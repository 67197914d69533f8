import { Cluster, Redis } from "ioredis";
import { Connection } from "../src/connection.ts";
import type { RedisClient } from "../src/options.ts";
import { RedisDriver } from "../src/redis-driver.ts";

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

/** The address of a server, a cluster, or a server with Sentinel. Plain data, because it is sent to child processes. */
export type ServerLocation = { readonly url: string } | ClusterLocation | SentinelLocation;

/** A namespace at a location. */
export type Namespace = ServerLocation & { readonly keyPrefix: string };

/** A driver on a namespace. Imported by child processes. */
export function connect(data: unknown): RedisDriver {
  return open(data as Namespace).driver;
}

/** A driver, and its client. */
export function open({ keyPrefix, ...location }: Namespace): { client: RedisClient; driver: RedisDriver } {
  if ("url" in location) {
    const connection = Connection.to(location.url);
    return { client: connection.client, driver: new RedisDriver(connection, keyPrefix) };
  }
  const given = clientAt(location);
  const connection = Connection.like(given);
  const driver = new RedisDriver(connection, keyPrefix);
  // The test must close a client that it passes in. The suite closes only the driver, so the driver closes the client.
  driver.close = async () => given.disconnect();
  return { client: connection.client, driver };
}

/** A caller's client with the timeouts that the documentation recommends. Never connects. */
function clientAt(location: ClusterLocation | SentinelLocation): RedisClient {
  const options = { lazyConnect: true, connectTimeout: 1_000 };
  if ("sentinels" in location) return new Redis({ ...location, ...options });
  const { startupNodes, natMap } = location;
  return new Cluster(startupNodes, { natMap, lazyConnect: true, redisOptions: options });
}
