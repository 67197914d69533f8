import type { DriverTarget, ErrorClassification } from "@scrollback/store-core/driver";
import type { DocumentCapabilities } from "../database.ts";

/** One SQL statement, and a value for each `?` in it. At most 10 values, of at most 2 MB each. */
export interface SqliteStatement {
  readonly sql: string;
  readonly parameters: readonly (string | number | null)[];
}

/** A row by the names of its columns: texts, numbers and `null`. */
export type SqliteRow = Readonly<Record<string, unknown>>;

/**
 * A client of a database that executes SQL of SQLite 3.38 or newer, for {@link SqliteDocuments}: a file, a service or a Durable Object.
 * The constructor does no I/O.
 */
export interface SqliteClient {
  readonly capabilities: Omit<DocumentCapabilities, "maxDocumentBytes">;
  /** As `Driver.target`. */
  readonly target?: DriverTarget | undefined;
  /**
   * Executes the statements, in order, in one transaction: all of them or none. What it wrote is durable when it returns, and it sees
   * every write that was acknowledged before, so it must not read from a replica. One request. Settles within a few seconds, and
   * after `close` rejects with `CLOSED`. Throws the client's raw errors.
   *
   * @returns the rows of each statement: those that it selects, or names in RETURNING.
   */
  batch(statements: readonly SqliteStatement[]): Promise<readonly (readonly SqliteRow[])[]>;
  /** As `Driver.close`. */
  close(): Promise<void>;
  /** As `Driver.classifyError`, for the errors of this client. Those that SQLite itself reports are known. */
  classifyError(error: unknown): ErrorClassification | undefined;
}
