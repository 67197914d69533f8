import type { DatabaseSync, StatementSync } from "node:sqlite";
import { StoreError } from "@scrollback/store-core";
import type { Connection, Value, Values } from "./connection.ts";

/** A connection by `node:sqlite`. */
export class NodeSqliteConnection implements Connection {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  first(sql: string): (...parameters: Value[]) => Values | undefined {
    const statement = this.#prepare(sql);
    if (returnsArrays(statement))
      return (...parameters) => statement.get(...parameters) as unknown as Values | undefined;
    return (...parameters) => {
      const row = statement.get(...parameters);
      return row && (Object.values(row) as Value[]);
    };
  }

  all(sql: string): (...parameters: Value[]) => readonly Values[] {
    const statement = this.#prepare(sql);
    if (returnsArrays(statement))
      return (...parameters) => statement.all(...parameters) as unknown as readonly Values[];
    return (...parameters) => statement.all(...parameters).map((row) => Object.values(row) as Value[]);
  }

  command(sql: string): (...parameters: Value[]) => void {
    const statement = this.#prepare(sql);
    // Not `run`, which also returns counts of rows: that takes up to a third of the time of a statement.
    return (...parameters) => {
      statement.get(...parameters);
    };
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  close(): void {
    this.#database.close();
  }

  #prepare(sql: string): StatementSync {
    const statement = this.#database.prepare(sql);
    statement.setReadBigInts(false);
    return statement;
  }
}

/**
 * Makes a statement return rows without names. Returns whether this version of Node can; in others a row takes twice the time.
 */
function returnsArrays(statement: StatementSync): boolean {
  const { setReturnArrays }: Partial<StatementSync> = statement;
  setReturnArrays?.call(statement, true);
  return setReturnArrays !== undefined;
}

/** Opens a database. @throws StoreError `UNSUPPORTED` where Node has no `node:sqlite`. */
export function openNodeSqlite(path: string): Connection {
  return new NodeSqliteConnection(new (requireNodeSqlite().DatabaseSync)(path));
}

/** @throws StoreError `UNSUPPORTED` where Node has no `node:sqlite`. */
export function requireNodeSqlite(): typeof import("node:sqlite") {
  // Not imported: with a client of another package, node:sqlite is not needed.
  const sqlite: typeof import("node:sqlite") | undefined = process.getBuiltinModule("node:sqlite");
  if (sqlite) return sqlite;
  throw new StoreError(
    "UNSUPPORTED",
    "createSqliteStores: url needs node:sqlite, which this Node.js has not; it was built or started without it. Pass a Database of better-sqlite3 as client",
  );
}

/** Whether a value is an open `DatabaseSync`. */
export function isNodeSqlite(value: unknown): value is DatabaseSync {
  const DatabaseSync = process.getBuiltinModule("node:sqlite")?.DatabaseSync;
  // Older versions of Node have no isOpen.
  return DatabaseSync !== undefined && value instanceof DatabaseSync && value.isOpen !== false;
}

/** The names of SQLite's primary result codes, see https://sqlite.org/rescode.html. */
const names: Readonly<Record<number, string>> = {
  1: "SQLITE_ERROR",
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  8: "SQLITE_READONLY",
  10: "SQLITE_IOERR",
  11: "SQLITE_CORRUPT",
  13: "SQLITE_FULL",
  14: "SQLITE_CANTOPEN",
  15: "SQLITE_PROTOCOL",
  18: "SQLITE_TOOBIG",
  19: "SQLITE_CONSTRAINT",
  26: "SQLITE_NOTADB",
};

/** The name of the primary result code of an error of `node:sqlite`; undefined for any other error. */
export function nodeSqliteCode(error: Error): string | undefined {
  if ("code" in error && error.code === "ERR_INVALID_STATE") return "SQLITE_MISUSE";
  if ("code" in error && error.code === "ERR_OUT_OF_RANGE") return "SQLITE_MISMATCH";
  return "errcode" in error && typeof error.errcode === "number" ? names[error.errcode & 0xff] : undefined;
}
