import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "@scrollback/store-core";
import { prepare } from "./statements.ts";
import type { Transactions } from "./transactions.ts";

/**
 * The steps from an empty database to today's tables. A database's version is the number of steps it has taken, kept in
 * the table `schema` of its prefix. A step that was released is never changed: a new layout is a new step, which must make the
 * statements of older versions fail, so that a process that still runs one of them stops with a clear error.
 */
const steps: readonly ((prefix: string) => string)[] = [
  (prefix) => `
    CREATE TABLE ${prefix}schema (version INTEGER NOT NULL) STRICT;
    INSERT INTO ${prefix}schema VALUES (0);
    CREATE TABLE ${prefix}threads (
      key INTEGER PRIMARY KEY,
      id ANY NOT NULL UNIQUE,
      epoch TEXT NOT NULL,
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
      first INTEGER NOT NULL,
      next INTEGER NOT NULL,
      PRIMARY KEY (thread, number)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE ${prefix}messages (
      thread INTEGER NOT NULL,
      sequence INTEGER NOT NULL,
      record ANY NOT NULL,
      PRIMARY KEY (thread, sequence)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE ${prefix}metadata (
      thread INTEGER PRIMARY KEY,
      record ANY NOT NULL
    ) STRICT;`,
];

/**
 * Makes the tables, or brings those of an older version up to date, in one transaction. Safe from several processes at once.
 *
 * @throws StoreError `UNSUPPORTED` for tables of a newer version, which stay as they are.
 */
export function migrate(database: DatabaseSync, transactions: Transactions, prefix: string): void {
  if (versionOf(database, prefix) === steps.length) return;
  transactions.write(() => {
    // Asked again, as another process may have been faster.
    for (const step of steps.slice(versionOf(database, prefix))) database.exec(step(prefix));
    database.exec(`UPDATE ${prefix}schema SET version = ${steps.length}`);
  });
}

function versionOf(database: DatabaseSync, prefix: string): number {
  const tables = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?";
  if (!prepare(database, tables).get(`${prefix}schema`)) return 0;
  const version = Number(prepare(database, `SELECT version FROM ${prefix}schema`).get()?.version);
  if (version <= steps.length) return version;
  throw new StoreError(
    "UNSUPPORTED",
    `the database has tables of layout version ${version}, this package knows up to ${steps.length}; upgrade @scrollback/store-sqlite`,
  );
}
