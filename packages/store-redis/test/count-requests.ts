import type { Redis } from "ioredis";
import type { RedisClient } from "../src/options.ts";

/** The commands that a client sends by itself while it connects. */
const HANDSHAKE = new Set(["hello", "auth", "select", "client", "info", "readonly", "cluster"]);

/**
 * Counts the requests of a client that has not connected yet, as writes to its sockets. A transaction or pipeline is one
 * request, because it is sent as one write and waits once.
 */
export function countRequests(client: RedisClient): () => number {
  let count = 0;
  const watch = (connection: Redis) => {
    connection.on("connect", () => {
      const { stream } = connection as unknown as { stream: { write: (data: string | Buffer) => boolean } };
      const write = stream.write;
      stream.write = function (this: unknown, data, ...rest: []) {
        const [, name = ""] = /^\*\d+\r\n\$\d+\r\n(\w+)/.exec(data.slice(0, 64).toString()) ?? [];
        if (!HANDSHAKE.has(name.toLowerCase())) count += 1;
        return write.call(this, data, ...rest);
      };
    });
  };
  if (client.isCluster) client.on("+node", watch);
  else watch(client as Redis);
  return () => count;
}
