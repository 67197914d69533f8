import type { Cluster, Redis } from "ioredis";
import { withoutArguments } from "./errors.ts";
import { type RedisClient, targetOf } from "./options.ts";

/** Why a client has no connection, as far as it told since it was connected last. */
export interface ConnectionWatch {
  error: unknown;
  /** What it connects to; of a cluster the node that failed. */
  server: string | undefined;
}

/** One for all factories on a client, which warns of many listeners. */
const watches = new WeakMap<RedisClient, ConnectionWatch>();

/** Listens to why a client cannot connect. Its commands only tell that it cannot. */
export function watchConnection(client: RedisClient): ConnectionWatch {
  const known = watches.get(client);
  if (known) return known;
  const server = client.isCluster ? undefined : serverOf(client as Redis);
  const watch: ConnectionWatch = { error: undefined, server };
  watches.set(client, watch);
  if (client.isCluster) {
    // Of each node. The cluster's own error only says that none of them was of use.
    (client as Cluster).on("node error", (error: unknown, node: string) => {
      Object.assign(watch, { error: withoutArguments(error), server: node });
    });
  } else {
    (client as Redis).on("error", (error: unknown) => {
      watch.error = withoutArguments(error);
    });
  }
  client.on("ready", () => {
    Object.assign(watch, { error: undefined, server });
  });
  return watch;
}

/** A server's address, or those of the sentinels that know it. */
function serverOf(client: Redis): string | undefined {
  const { server } = targetOf(client) ?? {};
  if (server) return `${server.address}:${server.port}`;
  const { path, sentinels } = client.options ?? {};
  return path ?? sentinels?.map(({ host, port }) => `${host}:${port}`).join(", ");
}
