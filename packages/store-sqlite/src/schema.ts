import { StoreError } from "@scrollback/store-core";
import type { Connection } from "./clients/index.ts";
import type { Transactions } from "./transactions.ts";

/**
 * The migrations from an empty database to the current tables. A database's version is the number of its migrations, kept in
 * the table `schema` of its prefix. A released migration is never changed: a new layout is a new migration. It must make the
 * statements of older versions fail, so that a process with an older version stops with a clear error.
 */
const steps: readonly ((prefix: string) => string)[] = [
  (prefix) => `
    CREATE TABLE ${prefix}schema (version INTEGER NOT NULL) STRICT;
    INSERT INTO ${prefix}schema VALUES (0);
    CREATE TABLE ${prefix}threads (
      key INTEGER PRIMARY KEY,
      id ANY NOT NULL UNIQUE,
      incarnation TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER
    ) STRICT;
    CREATE INDEX ${prefix}threads_expiry ON ${prefix}threads (expires_at) WHERE expires_at IS NOT NULL;
    CREATE TABLE ${prefix}commits (
      thread INTEGER NOT NULL,
      number INTEGER NOT NULL,
      operation TEXT NOT NULL,
      digest TEXT NOT NULL,
      updated_at INTEGER NOT NULL,
      pinned INTEGER,
      compaction INTEGER,
      first INTEGER NOT NULL,
      next INTEGER NOT NULL,
      userless INTEGER NOT NULL,
      startless INTEGER NOT NULL,
      newest_compaction INTEGER NOT NULL,
      PRIMARY KEY (thread, number)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE ${prefix}messages (
      thread INTEGER NOT NULL,
      sequence INTEGER NOT NULL,
      kind TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      text ANY NOT NULL,
      PRIMARY KEY (thread, sequence)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE ${prefix}metadata (
      thread INTEGER PRIMARY KEY,
      text ANY NOT NULL
    ) STRICT;`,
  (prefix) => `
    CREATE TABLE ${prefix}entries (
      name ANY NOT NULL,
      sort TEXT NOT NULL,
      key ANY NOT NULL,
      id ANY NOT NULL,
      version INTEGER NOT NULL,
      "order" REAL NOT NULL,
      value ANY NOT NULL,
      expires_at INTEGER,
      PRIMARY KEY (name, sort)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX ${prefix}entries_key ON ${prefix}entries (name, key, id);
    CREATE INDEX ${prefix}entries_expiry ON ${prefix}entries (name, expires_at) WHERE expires_at IS NOT NULL;`,
];

/**
 * Creates the tables, or migrates the tables of an older version, in one transaction. Several processes can run it at once.
 *
 * @throws StoreError `UNSUPPORTED` for tables of a newer version, which stay unchanged.
 */
export function migrate(connection: Connection, transactions: Transactions, prefix: string): void {
  if (versionOf(connection, prefix) === steps.length) return;
  transactions.run("write", () => {
    // Read again, because another process may have been first.
    for (const step of steps.slice(versionOf(connection, prefix))) connection.exec(step(prefix));
    connection.exec(`UPDATE ${prefix}schema SET version = ${steps.length}`);
  });
}

/**
 * Requires the current tables, and makes none.
 *
 * @throws StoreError `UNAVAILABLE` for missing tables, and for those of an older version; `UNSUPPORTED` for those of a newer one.
 */
export function requireTables(connection: Connection, prefix: string): void {
  if (versionOf(connection, prefix) !== steps.length) throw missingTables();
}

/** The error of a database without the tables of the stores, which must not be made. */
export function missingTables(): StoreError {
  return new StoreError(
    "UNAVAILABLE",
    "sqlite: the database lacks the tables of the stores, or has those of an older version; run setup(), or leave out setup: false",
  );
}

function versionOf(connection: Connection, prefix: string): number {
  const tables = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?";
  if (!connection.first(tables)(`${prefix}schema`)) return 0;
  const version = Number(connection.first(`SELECT version FROM ${prefix}schema`)()?.[0]);
  if (version <= steps.length) return version;
  throw new StoreError(
    "UNSUPPORTED",
    `the database has tables of layout version ${version}; this package supports up to ${steps.length}; upgrade @scrollback/store-sqlite`,
  );
}
