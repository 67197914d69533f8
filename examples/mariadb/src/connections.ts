import type { Socket } from "node:net";
import { type ConnectionPool, ignoreErrors, type UsedClient } from "@scrollback/store-core";
import type { Pool, PoolConnection } from "mysql2";
import type { Pool as PromisePool } from "mysql2/promise";
import { verdictOn } from "./errors.ts";

/** A connection of `mysql2`, whose types lack its socket. */
export type MariadbConnection = PoolConnection & { readonly stream: Socket };

/** The connections of a pool: those of the pool within it, because `mysql2/promise` wraps a connection anew each time. */
export function connectionsOf({ client, owned }: UsedClient<PromisePool>): ConnectionPool<MariadbConnection> {
  const { pool } = client;
  // After `connection.destroy()`, the request under way would never settle.
  const destroy = ({ stream }: MariadbConnection) => void stream.destroy();
  if (owned) {
    // mysql2 emits it only where the server closes the connection.
    pool.on("connection", (one: MariadbConnection) => one.stream.once("close", () => one.emit("end")));
  }
  return {
    acquire: () =>
      new Promise((resolve, reject) => {
        pool.getConnection((error, connection) => {
          if (error) return reject(error);
          ignoreErrors(connection);
          resolve(connection as MariadbConnection);
        });
      }),
    release: (connection, reusable) => (reusable ? connection.release() : destroy(connection)),
    verdictOn,
    ...(owned && { own: { end: () => client.end(), destroy } }),
  };
}

/** The address and the database that a pool connects to, which are missing in the types of `mysql2`. */
export function locationOf(pool: Pool): { host: string; port: number; database?: string } {
  const config: object = pool.config;
  return (config as { connectionConfig: { host: string; port: number; database?: string } }).connectionConfig;
}
