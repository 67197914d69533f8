import {
  type EntriesRequest,
  type EntryIndex,
  type EntryPage,
  type EntryPlace,
  type EntryPut,
  entryPageOf,
  type IndexesRequest,
  type IndexListing,
  indexListingOf,
  keyDigest,
  nameOfCursor,
  orderOf,
  placeDigest,
  SORT_KEY_ENDS,
  type StoredEntry,
  sortKey,
} from "@scrollback/store-core";
import { fromText, toBigint, toText } from "./row.ts";
import { type Statement, statement } from "./statements.ts";

/** How the index of a log sends statements. */
export interface EntrySource {
  send(statement: Statement, values: unknown[]): Promise<EntryReply>;
  /** Like `send`, but a statement that may have been executed is not repeated. */
  sendOnce(statement: Statement, values: unknown[]): Promise<EntryReply>;
}

interface EntryReply {
  readonly rows: readonly (readonly unknown[])[];
  readonly rowCount: number | null;
}

/** The number of expired entries that a write removes. */
const SWEPT_ENTRIES = 100;

/** The index in a table of its own: one row per entry, see `entriesDefinition`. Each verb is one statement. */
export class PostgresEntries implements EntryIndex {
  readonly #source: EntrySource;
  readonly #statements;

  constructor(table: string, source: EntrySource) {
    this.#source = source;
    this.#statements = statementsOn(table);
  }

  async insertEntry(put: EntryPut): Promise<boolean> {
    const { rowCount } = await this.#source.sendOnce(this.#statements.insert, valuesOf(put));
    return rowCount === 1;
  }

  async updateEntry(put: EntryPut): Promise<number | null> {
    const { rows } = await this.#source.send(this.#statements.update, valuesOf(put));
    return rows[0] ? Number(rows[0][0]) : null;
  }

  async removeEntry(place: EntryPlace): Promise<boolean> {
    const { rows } = await this.#source.send(this.#statements.remove, [placeDigest(place), Date.now()]);
    return rows[0]?.[0] === true;
  }

  async entriesOf(place: Pick<EntryPlace, "index" | "key">): Promise<readonly StoredEntry[]> {
    const digest = keyDigest(place);
    const values = [`${digest}.`, `${digest}/`, Date.now()];
    const { rows } = await this.#source.send(this.#statements.ofKey, values);
    return rows.map(entryOf);
  }

  async listEntries({ index, direction, limit, after }: EntriesRequest): Promise<EntryPage> {
    const values = [toText(index), after ?? SORT_KEY_ENDS[direction], Date.now(), limit + 1];
    const { rows } = await this.#source.send(this.#statements[direction], values);
    return entryPageOf(rows.map(entryOf), limit);
  }

  /** Sends one statement, which searches an index once per name. */
  async listIndexes(request: IndexesRequest): Promise<IndexListing> {
    const { prefix, limit } = request;
    const values = [toText(prefix), toText(nameOfCursor(request) ?? ""), limit + 1, Date.now()];
    const { rows } = await this.#source.send(this.#statements.names, values);
    return indexListingOf(
      rows.map(([name]) => fromText(String(name))),
      limit,
    );
  }
}

function statementsOn(table: string) {
  const columns = "key, id, version, sort, value, expires_at";
  const alive = (now: string) => `(expires_at IS NULL OR expires_at > ${now})`;
  // Rows that another write locks are left to it: two sweeps with different orders would deadlock.
  const swept = `swept AS (DELETE FROM ${table} WHERE place IN (
  SELECT place FROM ${table} WHERE name = $2 AND expires_at <= $9 AND place <> $1 LIMIT ${SWEPT_ENTRIES} FOR UPDATE SKIP LOCKED
))`;
  // Both conditions and the order by the beginning use the index.
  const page = (comparison: ">" | "<", direction: "ASC" | "DESC") =>
    statement(
      `SELECT ${columns} FROM ${table} WHERE name = $1 AND left(sort, 128) ${comparison}= left($2, 128) AND sort ${comparison} $2 ` +
        `AND ${alive("$3")} ORDER BY left(sort, 128) ${direction}, sort ${direction} LIMIT $4`,
    );
  const next = (names: string) =>
    `(SELECT name FROM ${table} WHERE ${names} AND ${alive("$4")} ORDER BY name LIMIT 1)`;
  return {
    insert: statement(
      `WITH ${swept}
INSERT INTO ${table} AS e (place, name, key, id, sort, version, value, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (place) DO UPDATE SET sort = excluded.sort, version = excluded.version, value = excluded.value, expires_at = excluded.expires_at
WHERE e.expires_at <= $9`,
    ),
    /** The lock makes `found` the newest state, which the update then changes. */
    update: statement(
      `WITH ${swept},
found AS (SELECT version FROM ${table} WHERE place = $1 AND name = $2 AND key = $3 AND id = $4 AND ${alive("$9")} FOR UPDATE),
changed AS (
  UPDATE ${table} AS e SET sort = $5, version = $6, value = $7, expires_at = $8 FROM found WHERE e.place = $1 AND found.version < $6
)
SELECT version FROM found`,
    ),
    remove: statement(`DELETE FROM ${table} WHERE place = $1 RETURNING ${alive("$2")}`),
    ofKey: statement(`SELECT ${columns} FROM ${table} WHERE place >= $1 AND place < $2 AND ${alive("$3")}`),
    up: page(">", "ASC"),
    down: page("<", "DESC"),
    names: statement(
      `WITH RECURSIVE found AS (
  SELECT ${next("name >= $1 AND name > $2")} AS name, 1 AS place
  UNION ALL
  SELECT ${next("name > found.name")}, place + 1
  FROM found WHERE left(found.name, length($1)) = $1 AND place < $3
)
SELECT name FROM found WHERE left(name, length($1)) = $1 ORDER BY place`,
    ),
  };
}

/** The parameters of a write. */
function valuesOf(put: EntryPut): unknown[] {
  const { index, key, id, version, value, expiresAt } = put;
  const names = [placeDigest(put), toText(index), toText(key), toText(id)];
  const expiry = expiresAt === undefined ? null : toBigint(expiresAt);
  return [...names, sortKey(put), version, toText(value), expiry, Date.now()];
}

/** A value that is not of its type fails when it is read. */
function entryOf([key, id, version, sort, value, expiresAt]: readonly unknown[]): StoredEntry {
  return {
    ...{ key: fromText(String(key)), id: fromText(String(id)) },
    ...{ version: Number(version), order: orderOf(String(sort)), value: fromText(String(value)) },
    ...(expiresAt !== null && { expiresAt: Number(expiresAt) }),
  };
}
