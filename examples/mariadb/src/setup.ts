import { StoreError } from "@scrollback/store-core";
import { isTableMissing } from "./errors.ts";
import { type Send, select } from "./statements.ts";

/** A table's name in SQL. */
export const quoted = (tableName: string) => `\`${tableName}\``;

/** The names of the tables of the pages, and of the index, in SQL. */
export const pagesOf = (tableName: string) => quoted(`${tableName}_pages`);
export const entriesOf = (tableName: string) => quoted(`${tableName}_entries`);

/** The table of the heads, as `setup()` creates it. Names and JSON are bytes, which are compared as such. */
export function headsDefinition(tableName: string): string {
  return `CREATE TABLE IF NOT EXISTS ${quoted(tableName)} (
  thread varbinary(1024) NOT NULL PRIMARY KEY,
  token varbinary(64) NOT NULL,
  until bigint,
  head longblob NOT NULL,
  tail longblob NOT NULL,
  INDEX expiry (until)
) ENGINE = InnoDB`;
}

/** The table of the pages, as `setup()` creates it. */
export function pagesDefinition(tableName: string): string {
  return `CREATE TABLE IF NOT EXISTS ${pagesOf(tableName)} (
  thread varbinary(1024) NOT NULL,
  id varbinary(64) NOT NULL,
  until bigint,
  messages longblob NOT NULL,
  PRIMARY KEY (thread, id),
  INDEX expiry (until)
) ENGINE = InnoDB`;
}

/**
 * The table of the index, as `setup()` creates it. A key has at most 3,072 bytes, names have up to 1,024 each: so `list` is a digest of
 * the index's name. Entries of an index are in the order of the columns of `by_order`.
 */
export function entriesDefinition(tableName: string): string {
  return `CREATE TABLE IF NOT EXISTS ${entriesOf(tableName)} (
  list varbinary(43) NOT NULL,
  entry_key varbinary(1024) NOT NULL,
  id varbinary(1024) NOT NULL,
  name varbinary(1024) NOT NULL,
  sort varbinary(16) NOT NULL,
  version bigint NOT NULL,
  value blob NOT NULL,
  expires_at bigint,
  PRIMARY KEY (list, entry_key, id),
  INDEX by_order (list, sort, entry_key, id),
  INDEX names (name),
  INDEX expiry (expires_at)
) ENGINE = InnoDB`;
}

/**
 * The statements that delete what expired. A scheduler should repeat each once an hour or a day, until it deletes nothing more. One may
 * fail with a deadlock beside a write: repeat it too. A write that does is `UNAVAILABLE`, and stores repeat it.
 */
export function sweepStatements(tableName: string): string[] {
  const expired = (table: string, column: string) =>
    `DELETE FROM ${table} WHERE ${column} < UNIX_TIMESTAMP() * 1000 LIMIT 1000`;
  return [
    expired(quoted(tableName), "until"),
    expired(pagesOf(tableName), "until"),
    expired(entriesOf(tableName), "expires_at"),
  ];
}

/** Statements that change nothing, and fail without a privilege, a column or the primary key that the stores need. */
function probesOf(table: string, columns: string): string[] {
  const [first] = columns.split(",");
  return [
    `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM ${table} FORCE INDEX (PRIMARY) WHERE FALSE`,
    `UPDATE ${table} SET ${first} = ${first} WHERE FALSE`,
    `DELETE FROM ${table} WHERE FALSE`,
  ];
}

/** The largest statement of pages. JSON has six bytes for one in the worst case, and a literal two for one of JSON. */
const MIN_PACKET_BYTES = 11 * 1024 ** 2;
const SMALL_PACKETS = `mariadb: the server's max_allowed_packet must be at least ${MIN_PACKET_BYTES}; raise it`;

/** Creates missing tables, for which alone it needs the privilege to create one, and checks what a commit does not use. */
export async function createTables(send: Send, tableName: string): Promise<void> {
  const { rows } = await send(select(["@@max_allowed_packet"], ""));
  if (Number(rows[0]?.[0]) < MIN_PACKET_BYTES) throw new StoreError("UNSUPPORTED", SMALL_PACKETS);
  const entries = "list, entry_key, id, name, sort, version, value, expires_at";
  const tables = [
    [headsDefinition(tableName), probesOf(quoted(tableName), "thread, token, until, head, tail")],
    [pagesDefinition(tableName), probesOf(pagesOf(tableName), "thread, id, until, messages")],
    [entriesDefinition(tableName), probesOf(entriesOf(tableName), entries)],
  ] as const;
  for (const [definition, probes] of tables) {
    try {
      for (const probe of probes) await send(probe);
    } catch (error) {
      if (!isTableMissing(error)) throw error;
      await send(definition);
    }
  }
}
