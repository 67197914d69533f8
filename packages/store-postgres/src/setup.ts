import { type ErrorClassification, refusal } from "@scrollback/store-core";
import { isCreatedMeanwhile, readOnly } from "./errors.ts";

/** Quotes an SQL identifier. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The table's name in SQL. */
export function qualified(schema: string | undefined, name: string): string {
  return schema === undefined ? quote(name) : `${quote(schema)}.${quote(name)}`;
}

/**
 * The table and its indexes, as `setup()` creates them. One index finds expired rows, the other one finds threads by their
 * roots, which have numbers below 2^40. Ordinary rows of threads that never expire are in neither, so that a commit updates
 * only the primary key.
 */
export function tableDefinition(schema: string | undefined, tableName: string): string {
  const table = qualified(schema, tableName);
  return `CREATE TABLE IF NOT EXISTS ${table} (
  stream text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  head text NOT NULL,
  content text,
  expires_at bigint,
  PRIMARY KEY (stream, number)
);
CREATE INDEX IF NOT EXISTS ${quote(`${tableName}_expiry`)} ON ${table} (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS ${quote(`${tableName}_roots`)} ON ${table} (stream, number) WHERE number < 1099511627776;`;
}

/** The name of the table of the index beside a log. */
export const entriesName = (tableName: string) => `${tableName}_entries`;

/**
 * The table of the index and its indexes, as `setup()` creates them. A key of an index has at most 2,704 bytes, names have up to 1,024
 * each: so the primary key is a digest, and the order is indexed by its beginning.
 */
export function entriesDefinition(schema: string | undefined, tableName: string): string {
  const name = entriesName(tableName);
  const table = qualified(schema, name);
  return `CREATE TABLE IF NOT EXISTS ${table} (
  place text COLLATE "C" PRIMARY KEY,
  name text COLLATE "C" NOT NULL,
  key text NOT NULL,
  id text NOT NULL,
  sort text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  value text NOT NULL,
  expires_at bigint
);
CREATE INDEX IF NOT EXISTS ${quote(`${name}_order`)} ON ${table} (name, left(sort, 128));
CREATE INDEX IF NOT EXISTS ${quote(`${name}_expiry`)} ON ${table} (name, expires_at) WHERE expires_at IS NOT NULL;`;
}

/** Deletes expired rows of a table. A scheduler should run it once per hour or day. */
export function sweepStatement(schema: string | undefined, name: string): string {
  return `DELETE FROM ${qualified(schema, name)} WHERE expires_at < extract(epoch FROM now()) * 1000;`;
}

/** A table that `setup()` creates. */
export interface SetupTable {
  /** For SQL. */
  readonly table: string;
  readonly definition: string;
  /** What the stores need. */
  readonly privileges: readonly string[];
}

/** The table of the log, and the one of the index. */
export function tablesOf(schema: string | undefined, tableName: string): SetupTable[] {
  return [
    {
      table: qualified(schema, tableName),
      definition: tableDefinition(schema, tableName),
      privileges: ["SELECT", "INSERT", "UPDATE"],
    },
    {
      table: qualified(schema, entriesName(tableName)),
      definition: entriesDefinition(schema, tableName),
      privileges: ["SELECT", "INSERT", "UPDATE", "DELETE"],
    },
  ];
}

/**
 * Reads the encoding, whether the server accepts writes, and whether the user has privileges. $1 is the quoted name of the table, $2
 * the privileges.
 */
const look = `SELECT getdatabaseencoding() AS encoding, current_setting('transaction_read_only') AS read_only, t.id IS NOT NULL AS is_there,
  t.id IS NULL OR (SELECT bool_and(has_table_privilege(t.id, p)) FROM unnest($2::text[]) AS p) AS is_allowed
FROM (SELECT to_regclass($1)::oid AS id) AS t`;

const wrongEncoding: ErrorClassification = {
  code: "UNSUPPORTED",
  message:
    "postgres: the database's encoding must be UTF8, because messages may contain any character; create it with ENCODING 'UTF8'",
};
const notAllowed = ({ table, privileges }: SetupTable): ErrorClassification => ({
  code: "UNAVAILABLE",
  message: `postgres: the user needs the privileges ${privileges.join(", ")} on the table ${table}; grant them`,
});

/** Sends a statement, or several if there are no values. */
export type Send = (text: string, values?: unknown[]) => Promise<readonly (readonly unknown[])[]>;

/** Creates a missing table. For an existing table it needs no privilege to create one. */
export async function createTable(send: Send, wanted: SetupTable): Promise<void> {
  const { table, definition, privileges } = wanted;
  const isThere = async () => {
    const [[encoding, isReadOnly, found, allowed] = []] = await send(look, [table, privileges]);
    if (encoding !== "UTF8") throw refusal(wrongEncoding);
    if (isReadOnly === "on") throw refusal(readOnly);
    if (allowed !== true) throw refusal(notAllowed(wanted));
    return found === true;
  };
  if (await isThere()) return;
  try {
    await send(definition);
  } catch (error) {
    if (!isCreatedMeanwhile(error) || !(await isThere())) throw error;
  }
}
