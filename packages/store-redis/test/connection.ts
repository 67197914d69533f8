import { Cluster } from "ioredis";
import { clientOf, type RedisClient } from "../src/options.ts";
import { RedisDriver } from "../src/redis-driver.ts";

/** How to reach a server or a cluster. Plain data: it goes to child processes. */
export type Place =
  | { readonly url: string }
  | {
      readonly startupNodes: { host: string; port: number }[];
      readonly natMap: Record<string, { host: string; port: number }>;
    };

/** A namespace on a server or a cluster. */
export type Namespace = Place & { readonly keyPrefix: string };

/** A driver on a namespace. What a child process imports. */
export function connect(data: unknown): RedisDriver {
  return open(data as Namespace).driver;
}

/** A client and a driver that uses it alone. */
export function open({ keyPrefix, ...place }: Namespace): { client: RedisClient; driver: RedisDriver } {
  const { client, owned } =
    "url" in place ? clientOf(place.url, undefined) : { client: clusterOf(place), owned: false };
  const driver = new RedisDriver({ client, keyPrefix, owned });
  // A cluster's client is handed in, so the test's to close; here its driver is all that the suite sees of it.
  if (!owned) driver.close = async () => client.disconnect();
  return { client, driver };
}

/** A client of a cluster with the timeouts that the documentation recommends. */
function clusterOf({ startupNodes, natMap }: Extract<Place, { natMap: unknown }>): Cluster {
  const client = new Cluster(startupNodes, {
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
  client.on("error", () => undefined);
  return client;
}
