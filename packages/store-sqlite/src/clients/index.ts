import type { DatabaseSync } from "node:sqlite";
import {
  BetterSqlite3Connection,
  type BetterSqlite3Database,
  betterSqlite3Code,
  isBetterSqlite3,
} from "./better-sqlite3.ts";
import type { Connection } from "./connection.ts";
import { isNodeSqlite, NodeSqliteConnection, nodeSqliteCode } from "./node-sqlite.ts";

export { type Connection, fileOf, type Value, type Values } from "./connection.ts";
export { openNodeSqlite, requireNodeSqlite } from "./node-sqlite.ts";

/** A caller's database. */
export type SqliteClient = DatabaseSync | BetterSqlite3Database;

/** Whether a value is an open database of one of the supported clients. */
export function isSqliteClient(value: unknown): value is SqliteClient {
  return isBetterSqlite3(value) || isNodeSqlite(value);
}

/** The connection of a caller's database. */
export function connectionOf(client: SqliteClient): Connection {
  return isBetterSqlite3(client) ? new BetterSqlite3Connection(client) : new NodeSqliteConnection(client);
}

/**
 * The name of the primary result code of a client's error, such as `SQLITE_BUSY`; undefined for any other error. `SQLITE_MISUSE` is that
 * of a closed database, `SQLITE_MISMATCH` that of an integer that is not safe.
 */
export function resultCode(error: unknown): string | undefined {
  return error instanceof Error ? (nodeSqliteCode(error) ?? betterSqlite3Code(error)) : undefined;
}
