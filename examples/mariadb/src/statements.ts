/** A value of a statement. Texts are bytes: no setting of a client or a session changes how these are written and compared. */
export type Value = Buffer | number | null | Buffer[];

export const toBytes = (text: string): Buffer => Buffer.from(text);

/** The text of a column of bytes. A column that another program emptied is an empty text. */
export const fromBytes = (value: unknown): string => (value instanceof Buffer ? value.toString() : "");

/** The reply to a statement: its rows, or what it changed. */
export interface Reply {
  readonly rows: readonly (readonly unknown[])[];
  /** The number of rows that it inserted, found or deleted. */
  readonly count: number;
  /** The value of its last LAST_INSERT_ID(…); 0 without one. */
  readonly insertId: number;
}

/** Sends a statement with `?` for each of its values. A list of values is written with commas. */
export type Send = (sql: string, values?: readonly Value[]) => Promise<Reply>;

/**
 * A SELECT with one row more, whose last column is 1 if the connection is in a transaction, in which a read may be old. mysql2 returns
 * the server's status only with replies without rows.
 */
export function select(columns: readonly string[], rest: string): string {
  const nulls = columns.map(() => "NULL").join(", ");
  return `(SELECT ${columns.join(", ")}, NULL ${rest}) UNION ALL SELECT ${nulls}, @@in_transaction`;
}

/** A condition on names: with a prefix and after another name, see {@link boundsOf}. */
export const namesBetween = (column: string) => `${column} >= ? AND ${column} > ? AND ${column} < ?`;

/** After all names that begin with the prefix comes the prefix with a byte that UTF-8 does not have. */
export const boundsOf = (prefix: string, after: string): Value[] => [
  toBytes(prefix),
  toBytes(after),
  Buffer.concat([toBytes(prefix), Buffer.of(0xff)]),
];
