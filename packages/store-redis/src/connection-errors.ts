import { hostAndPort } from "@scrollback/store-core/driver";
import type { Cluster, Redis } from "ioredis";
import { withoutArguments } from "./errors.ts";
import { type RedisClient, targetOf } from "./options.ts";

/** The last connection error of a client since it was connected. */
export interface ConnectionWatch {
  error: unknown;
  /** The server that the client connects to; for a cluster, the node that failed. */
  server: string | undefined;
}

/** One for all factories on a client, because Node.js warns of many listeners. */
const watches = new WeakMap<RedisClient, ConnectionWatch>();

/** Records why a client cannot connect. The errors of its commands do not contain the reason. */
export function watchConnection(client: RedisClient): ConnectionWatch {
  const known = watches.get(client);
  if (known) return known;
  const server = client.isCluster ? undefined : serverOf(client as Redis);
  const watch: ConnectionWatch = { error: undefined, server };
  watches.set(client, watch);
  if (client.isCluster) {
    // The cluster's own error only says that no node could be reached.
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

/** The address of the server, or the addresses of its sentinels. */
function serverOf(client: Redis): string | undefined {
  const { server } = targetOf(client) ?? {};
  if (server) return hostAndPort(server.address, server.port);
  const { path, sentinels } = client.options ?? {};
  // With ioredis' default values.
  return (
    path ?? sentinels?.map(({ host = "localhost", port = 26_379 }) => hostAndPort(host, port)).join(", ")
  );
}
