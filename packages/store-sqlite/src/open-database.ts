import { closeSync, openSync } from "node:fs";
import { fileError } from "./errors.ts";
import { IN_MEMORY, type SqliteSource } from "./options.ts";
import { migrate } from "./schema.ts";
import { DatabaseSync } from "./sqlite.ts";
import { prepareStatements, type Statements } from "./statements.ts";
import { Transactions } from "./transactions.ts";

/** A database that is ready for the driver's verbs. */
export interface OpenDatabase {
  readonly database: DatabaseSync;
  readonly transactions: Transactions;
  readonly statements: Statements;
}

/** Opens the database, without its tables. A handed-in client is taken as it is. */
export function connect(source: SqliteSource): DatabaseSync {
  if ("client" in source) return source.client;
  if (source.path !== IN_MEMORY) createFile(source.path);
  return new DatabaseSync(source.path);
}

/** Makes a connected database ready. Can be done again when it failed halfway. */
export function prepareDatabase(database: DatabaseSync, source: SqliteSource, prefix: string): OpenDatabase {
  if ("path" in source) setPragmas(database, source.synchronous);
  const transactions = new Transactions(database);
  migrate(database, transactions, prefix);
  return { database, transactions, statements: prepareStatements(database, prefix) };
}

/**
 * Makes an empty database file that only its owner may read; SQLite gives the files beside it the same mode. A file that is
 * there is not touched: closing it here would drop the locks that other connections of this process hold on it.
 */
function createFile(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw fileError(error, path);
  }
}

function setPragmas(database: DatabaseSync, synchronous: "full" | "normal"): void {
  // Only a database without tables takes the page size. Records of up to 2 KB stay in the tree's pages with it.
  database.exec(`
    PRAGMA page_size = 8192;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = ${synchronous};
    PRAGMA fullfsync = ${synchronous === "full"};
    PRAGMA secure_delete = ON;`);
}
