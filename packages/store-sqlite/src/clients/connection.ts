/** A value that a statement reads or binds. */
export type Value = string | number | null | Uint8Array;

/** The values of a row, in the order of the columns. */
export type Values = readonly Value[];

/**
 * A connection to one database: what the driver's statements need of a client. Rows do not depend on the defaults of the client.
 * Statements are prepared once, and their parameters have no numbers: older versions of Node cannot bind numbered ones by position.
 */
export interface Connection {
  /** Prepares a query. Returns its first row, without reading the others; undefined for none. Columns have different names. */
  first(sql: string): (...parameters: Value[]) => Values | undefined;
  /** Prepares a query. Returns all its rows. Columns have different names. */
  all(sql: string): (...parameters: Value[]) => readonly Values[];
  /** Prepares a statement without rows. */
  command(sql: string): (...parameters: Value[]) => void;
  /** Runs statements without parameters. */
  exec(sql: string): void;
  close(): void;
}

/** The absolute path of the database file of a connection; null for a database in memory. */
export function fileOf(connection: Connection): string | null {
  // The first row is that of the main database.
  const [, , file] = connection.first("PRAGMA database_list")() ?? [];
  return typeof file === "string" && file !== "" ? file : null;
}
