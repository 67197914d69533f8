import { type ErrorClassification, refusal } from "@scrollback/store-core/driver";
import { isTableMissing } from "./errors.ts";
import { IS_ROOT, type Reply, type Statement, select, statement } from "./statements.ts";

/** A table's name in SQL. */
export const quoted = (tableName: string) => `\`${tableName}\``;

/** The name of the table of the index beside a log, in SQL. */
export const entriesOf = (tableName: string) => quoted(`${tableName}_entries`);

/**
 * The table of the log, as `setup()` creates it. Names, heads and texts are bytes, which are compared as such. Only roots are in the
 * index of the roots.
 */
export function tableDefinition(tableName: string): string {
  return `CREATE TABLE IF NOT EXISTS ${quoted(tableName)} (
  stream varbinary(1024) NOT NULL,
  number bigint NOT NULL,
  head longblob NOT NULL,
  content longblob,
  expires_at bigint,
  root varbinary(1024) AS (IF(${IS_ROOT}, stream, NULL)) STORED,
  PRIMARY KEY (stream, number),
  INDEX roots (root),
  INDEX expiry (expires_at)
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
  return [quoted(tableName), entriesOf(tableName)].map(
    (table) => `DELETE FROM ${table} WHERE expires_at < UNIX_TIMESTAMP() * 1000 LIMIT 1000`,
  );
}

/** Statements that change nothing, and fail without a privilege, a column or the primary key that the stores need. */
function probesOf(table: string, columns: string, canDelete: boolean): string[] {
  return [
    `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM ${table} FORCE INDEX (PRIMARY) WHERE FALSE`,
    `UPDATE ${table} SET expires_at = NULL WHERE FALSE`,
    ...(canDelete ? [`DELETE FROM ${table} WHERE FALSE`] : []),
  ];
}

/** Twice the largest row, see `maxRowBytes`, and the rest of the statement. */
const MIN_PACKET_BYTES = 8 * 1024 ** 2;
const smallPackets: ErrorClassification = {
  code: "UNSUPPORTED",
  message: `mariadb: the server's max_allowed_packet must be at least ${MIN_PACKET_BYTES}; raise it`,
};

/** Sends a statement. */
export type Send = (statement: Statement) => Promise<Reply>;

/** Creates missing tables, for which alone it needs the privilege to create one, and checks what a commit does not use. */
export async function createTables(send: Send, tableName: string): Promise<void> {
  const { rows } = await send(select(["@@max_allowed_packet"], ""));
  if (Number(rows[0]?.[0]) < MIN_PACKET_BYTES) throw refusal(smallPackets);
  const tables = [
    {
      definition: tableDefinition(tableName),
      probes: probesOf(quoted(tableName), "stream, number, head, content, expires_at", false),
    },
    {
      definition: entriesDefinition(tableName),
      probes: probesOf(
        entriesOf(tableName),
        "list, entry_key, id, name, sort, version, value, expires_at",
        true,
      ),
    },
  ];
  for (const { definition, probes } of tables) {
    try {
      for (const probe of probes) await send(statement(probe));
    } catch (error) {
      if (!isTableMissing(error)) throw error;
      await send(statement(definition));
    }
  }
}
