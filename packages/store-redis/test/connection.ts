import { Cluster, Redis } from "ioredis";
import { clientOf, type RedisClient } from "../src/options.ts";
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

/** A client, and the only driver that uses it. */
export function open({ keyPrefix, ...location }: Namespace): { client: RedisClient; driver: RedisDriver } {
  const { client, owned } =
    "url" in location ? clientOf(location.url, undefined) : { client: clientAt(location), owned: false };
  const driver = new RedisDriver({ client, keyPrefix, owned });
  // The test must close a client that it passes in. The suite closes only the driver, so the driver closes the client.
  if (!owned) driver.close = async () => client.disconnect();
  return { client, driver };
}

/** A client with the timeouts that the documentation recommends. */
function clientAt(location: ClusterLocation | SentinelLocation): RedisClient {
  const client = "sentinels" in location ? sentinelClient(location) : clusterClient(location);
  client.on("error", () => undefined);
  return client;
}

function sentinelClient(location: SentinelLocation): Redis {
  return new Redis({
    ...location,
    lazyConnect: true,
    enableOfflineQueue: false,
    connectTimeout: 1_000,
    commandTimeout: 4_000,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(50 * attempt, 200),
    disconnectTimeout: 0,
  });
}

function clusterClient({ startupNodes, natMap }: ClusterLocation): Cluster {
  return new Cluster(startupNodes, {
    natMap,
    lazyConnect: true,
    enableOfflineQueue: false,
    redisOptions: {
      connectTimeout: 5_000,
      commandTimeout: 4_000,
      maxRetriesPerRequest: 0,
      disconnectTimeout: 0,
    },
  });
}
