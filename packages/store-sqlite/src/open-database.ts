import { closeSync, existsSync, openSync } from "node:fs";
import { StoreError } from "@scrollback/store-core";
import type { WithoutTimeout } from "./busy-timeout.ts";
import { type Connection, openNodeSqlite } from "./clients/index.ts";
import { Entries } from "./entries.ts";
import { fileError } from "./errors.ts";
import { fileCheckOf } from "./file-check.ts";
import { IN_MEMORY, type SqliteSource } from "./options.ts";
import { migrate, missingTables, requireTables } from "./schema.ts";
import { prepareStatements, type Statements } from "./statements.ts";
import { Transactions } from "./transactions.ts";

/** A database that is ready for the driver's verbs. */
export interface OpenDatabase {
  readonly connection: Connection;
  readonly withoutTimeout: WithoutTimeout;
  readonly transactions: Transactions;
  readonly statements: Statements;
  readonly entries: Entries;
}

/** Opens the database without creating tables. A caller's client is used unchanged. @param makes whether a missing file is created. */
export function connect(source: SqliteSource, makes: boolean): Connection {
  if ("connection" in source) return source.connection;
  if (source.path !== IN_MEMORY) {
    if (makes) createFile(source.path);
    else if (!existsSync(source.path)) throw missingTables();
  }
  return openNodeSqlite(source.path);
}

/** Prepares a connected database for use. Can be called again after a failure. @param makes whether missing tables are created. */
export function prepareDatabase(
  connection: Connection,
  withoutTimeout: WithoutTimeout,
  source: SqliteSource,
  prefix: string,
  makes: boolean,
): OpenDatabase {
  if (!makes) requireTables(connection, prefix);
  if ("path" in source) setPragmas(connection, source.synchronous);
  assertEncoding(connection);
  const transactions = new Transactions(connection, withoutTimeout, fileCheckOf(source));
  migrate(connection, transactions, prefix);
  return {
    connection,
    withoutTimeout,
    transactions,
    statements: prepareStatements(connection, prefix),
    entries: new Entries(connection, prefix),
  };
}

/**
 * SQLite stores U+FFFE and U+FFFF as U+FFFD in a database in UTF-16: two ids would become one.
 *
 * @throws StoreError `UNSUPPORTED` for a database in UTF-16.
 */
function assertEncoding(connection: Connection): void {
  const encoding = connection.first("PRAGMA encoding")()?.[0];
  if (encoding === "UTF-8") return;
  throw new StoreError(
    "UNSUPPORTED",
    `sqlite: the database has the text encoding ${encoding}, which loses characters; use a database with the default one, UTF-8`,
  );
}

/**
 * Creates an empty database file that only its owner may read; SQLite gives its WAL files the same mode. An existing file is
 * not opened: closing it here would release the locks that other connections of this process hold on it.
 */
function createFile(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw fileError(error, path);
  }
}

function setPragmas(connection: Connection, synchronous: "full" | "normal"): void {
  // The page size applies only to a database without tables. With it, records of up to 2 KB need no overflow pages.
  connection.exec(`
    PRAGMA page_size = 8192;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = ${synchronous};
    PRAGMA fullfsync = ${synchronous === "full"};
    PRAGMA secure_delete = ON;`);
}
