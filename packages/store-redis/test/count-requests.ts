import type { Redis } from "ioredis";
import { IoredisConnection } from "../src/clients/ioredis.ts";
import type { IoredisClient } from "../src/clients/ioredis-options.ts";
import type { Commands, Connection } from "../src/connection.ts";
import type { RedisDriver } from "../src/redis-driver.ts";
import { type Namespace, open } from "./connection.ts";

/** The commands that a client sends by itself while it connects. */
const HANDSHAKE = new Set(["hello", "auth", "select", "client", "info", "readonly", "cluster"]);

/**
 * Counts the requests of a client that has not connected yet, as writes to its sockets. A transaction or pipeline is one
 * request, because it is sent as one write and waits once.
 */
function countWrites(client: IoredisClient): () => number {
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

/** A driver, and the number of its requests so far. With ioredis the writes to its sockets are counted, else the requests of the driver. */
export function requestsOf(namespace: Namespace): { driver: RedisDriver; count: () => number } {
  let sent = 0;
  const counted = <C extends Commands>(commands: C): C => ({
    ...commands,
    async call(command) {
      sent += 1;
      try {
        return await commands.call(command);
      } catch (error) {
        // How often a script is forgotten is the server's choice. The request that follows counts.
        if (error instanceof Error && error.message.startsWith("NOSCRIPT")) sent -= 1;
        throw error;
      }
    },
    pipeline(several) {
      sent += 1;
      return commands.pipeline(several);
    },
  });
  const wrap = (connection: Connection): Connection =>
    Object.create(connection, {
      run: {
        value: (...[send, signal]: Parameters<Connection["run"]>) =>
          connection.run((commands) => send(counted(commands)), signal),
      },
      isCluster: { value: connection.isCluster },
      server: { get: () => connection.server },
      close: { value: () => connection.close() },
    });
  const { connection, driver } = open(namespace, wrap);
  const isIoredis = connection instanceof IoredisConnection;
  return { driver, count: isIoredis ? countWrites(connection.client) : () => sent };
}
