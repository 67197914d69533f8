import type { Cluster, Redis } from "ioredis";
import type { IoredisConnection } from "../src/clients/ioredis.ts";
import type { IoredisClient } from "../src/clients/ioredis-options.ts";
import { connectionOf } from "../src/open-connection.ts";
import { markOf } from "../src/topology.ts";

/** The connection that the stores on a client of ioredis share. */
export const ownOf = (client: IoredisClient): IoredisConnection =>
  connectionOf(undefined, client) as IoredisConnection;

/** The primaries of a cluster, in the order in which they are scanned. */
export function primariesOf(client: Cluster): { mark: string; client: Redis }[] {
  return client
    .nodes("master")
    .map((node) => ({ mark: markOf(`${node.options.host}:${node.options.port}`), client: node }))
    .sort((a, b) => (a.mark < b.mark ? -1 : 1));
}
