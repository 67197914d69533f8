import { FIRST_ROW, type LogRow } from "@scrollback/record-log";
import { toBigint, toBytes, toValues, type Value } from "./row.ts";

/** A statement with `?` for each of its values. */
export interface Statement {
  readonly sql: string;
  readonly values: readonly Value[];
}

export const statement = (sql: string, values: readonly Value[] = []): Statement => ({ sql, values });

/** The reply to a statement: its rows, or what it changed. */
export interface Reply {
  readonly rows: readonly (readonly unknown[])[];
  /** The number of rows that it inserted, found or deleted. */
  readonly count: number;
  /** The value of its last LAST_INSERT_ID(…); 0 without one. */
  readonly insertId: number;
}

/**
 * A SELECT with one row more, whose last column is 1 if the connection is in a transaction, in which a read may be old. mysql2 returns
 * the server's status only with replies without rows.
 */
export function select(columns: readonly string[], rest: string, values: readonly Value[] = []): Statement {
  const nulls = columns.map(() => "NULL").join(", ");
  return statement(
    `(SELECT ${columns.join(", ")}, NULL ${rest}) UNION ALL SELECT ${nulls}, @@in_transaction`,
    values,
  );
}

/** More rows than any thread has. */
const MAX_LIMIT = 2 ** 31 - 1;

/** Only the plain INSERT refuses a key that is taken, with error 1062, and nothing else silently. */
export function insertStatement(table: string, stream: string, row: LogRow): Statement {
  return statement(
    `INSERT INTO ${table} (stream, number, head, content, expires_at) VALUES (?, ?, ?, ?, ?)`,
    toValues(stream, row),
  );
}

/** Fails in a table without a primary key, in which two rows could have one key. */
export function readStatement(
  table: string,
  { stream, below, limit, heads }: { stream: string; below: number; limit: number; heads: boolean },
): Statement {
  return select(
    ["number", "head", heads ? "NULL" : "content", "expires_at"],
    `FROM ${table} FORCE INDEX (PRIMARY) WHERE stream = ? AND number < ? ORDER BY number DESC LIMIT ?`,
    [toBytes(stream), toBigint(below), Math.min(limit, MAX_LIMIT)],
  );
}

/** The names of streams that have a root, in byte order, by the index of the roots. */
export function streamsStatement(table: string, prefix: string, after: string, limit: number): Statement {
  return select(["DISTINCT root"], `FROM ${table} WHERE ${namesBetween("root")} ORDER BY root LIMIT ?`, [
    ...boundsOf(prefix, after),
    limit,
  ]);
}

/** A condition on names: with a prefix and after another name, see {@link boundsOf}. */
export const namesBetween = (column: string) => `${column} >= ? AND ${column} > ? AND ${column} < ?`;

/** After all names that begin with the prefix comes the prefix with a byte that UTF-8 does not have. */
export const boundsOf = (prefix: string, after: string): Value[] => [
  toBytes(prefix),
  toBytes(after),
  Buffer.concat([toBytes(prefix), Buffer.of(0xff)]),
];

/** Which rows are roots, for the definition of the table. */
export const IS_ROOT = `number < ${FIRST_ROW}`;
