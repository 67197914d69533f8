import type { Socket } from "node:net";
import { type ConnectionPool, ignoreErrors, type UsedClient } from "@scrollback/store-core/driver";
import type { Pool, PoolConnection } from "mysql2";
import type { Pool as PromisePool } from "mysql2/promise";
import { isReply, OpenTransactionError } from "./errors.ts";
import type { Reply } from "./statements.ts";

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
    isReply,
    ...(owned && { own: { end: () => client.end(), destroy } }),
  };
}

/** The address and the database that a pool connects to, which are missing in the types of `mysql2`. */
export function locationOf(pool: Pool): { host: string; port: number; database?: string } {
  const config: object = pool.config;
  return (config as { connectionConfig: { host: string; port: number; database?: string } }).connectionConfig;
}

/** The flag in the status of a reply that the connection is in a transaction. */
const IN_TRANSACTION = 1;

/**
 * Sends a statement, and returns the reply. One on a connection in a transaction fails: nobody commits what it wrote, and what it read
 * may be old. The options override those of a pool that was passed in.
 */
export function replyOn(connection: MariadbConnection, sql: string): Promise<Reply> {
  const options = { sql, rowsAsArray: true, nestTables: false, typeCast: true, namedPlaceholders: false };
  return new Promise((resolve, reject) => {
    connection.query(options, (error, result: object) => {
      if (error) return reject(error);
      const { isInTransaction, ...reply } = Array.isArray(result) ? selected(result) : changed(result);
      if (isInTransaction) reject(new OpenTransactionError());
      else resolve(reply);
    });
  });
}

/** The reply to a {@link select}, without its last row. */
function selected(result: unknown[][]): Reply & { isInTransaction: boolean } {
  return {
    rows: result.slice(0, -1),
    count: 0,
    insertId: 0,
    isInTransaction: Number(result.at(-1)?.at(-1)) === 1,
  };
}

function changed(result: object): Reply & { isInTransaction: boolean } {
  const numberOf = (name: string) => Number(Reflect.get(result, name));
  const isInTransaction = (numberOf("serverStatus") & IN_TRANSACTION) !== 0;
  return { rows: [], count: numberOf("affectedRows"), insertId: numberOf("insertId"), isInTransaction };
}
