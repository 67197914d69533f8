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

/** Deletes expired rows. A scheduler should run it once per hour or day. */
export function sweepStatement(schema: string | undefined, tableName: string): string {
  return `DELETE FROM ${qualified(schema, tableName)} WHERE expires_at < extract(epoch FROM now()) * 1000;`;
}

/** Reads the privileges, the encoding and whether the server accepts writes. $1 is the quoted name of the table. */
const look = `SELECT getdatabaseencoding() AS encoding, current_setting('transaction_read_only') AS read_only, t.id IS NOT NULL AS is_there,
  t.id IS NULL OR has_table_privilege(t.id, 'SELECT') AND has_table_privilege(t.id, 'INSERT') AND has_table_privilege(t.id, 'UPDATE') AS is_allowed
FROM (SELECT to_regclass($1)::oid AS id) AS t`;

const wrongEncoding: ErrorClassification = {
  code: "UNSUPPORTED",
  message:
    "postgres: the database's encoding must be UTF8, because messages may contain any character; create it with ENCODING 'UTF8'",
};
const notAllowed: ErrorClassification = {
  code: "UNAVAILABLE",
  message: "postgres: the user needs the privileges SELECT, INSERT and UPDATE on the table; grant them",
};

/** Sends a statement, or several if there are no values. */
export type Send = (text: string, values?: unknown[]) => Promise<readonly (readonly unknown[])[]>;

/** Creates a missing table. For an existing table it needs no privilege to create one. */
export async function createTable(send: Send, schema: string | undefined, tableName: string): Promise<void> {
  const isThere = async () => {
    const [[encoding, isReadOnly, found, allowed] = []] = await send(look, [qualified(schema, tableName)]);
    if (encoding !== "UTF8") throw refusal(wrongEncoding);
    if (isReadOnly === "on") throw refusal(readOnly);
    if (allowed !== true) throw refusal(notAllowed);
    return found === true;
  };
  if (await isThere()) return;
  try {
    await send(tableDefinition(schema, tableName));
  } catch (error) {
    if (!isCreatedMeanwhile(error) || !(await isThere())) throw error;
  }
}
