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
  keyOf,
  nameOfCursor,
  orderOf,
  SORT_KEY_ENDS,
  type StoredEntry,
  sortKey,
} from "@scrollback/store-core";
import { fromBytes, toBytes, toExpiry, type Value } from "./row.ts";
import { boundsOf, namesBetween, type Request, request } from "./statements.ts";

/** The reply to a statement: its rows, or what it changed. */
export interface Reply {
  readonly rows: readonly (readonly unknown[])[];
  /** The value of the statement's last LAST_INSERT_ID(…); 0 without one. */
  readonly told: number;
}

/** How the index of a log sends statements. */
export interface EntrySource {
  send(request: Request): Promise<Reply>;
  /** Like `send`, but a statement that may have been executed is not repeated. */
  sendOnce(request: Request): Promise<Reply>;
}

const COLUMNS = "entry_key, id, version, sort, value, expires_at";
const ALIVE = "(expires_at IS NULL OR expires_at > ?)";

/** The index in a table of its own: one row per entry, see `entriesDefinition`. Each verb is one statement. */
export class MariadbEntries implements EntryIndex {
  readonly #table: string;
  readonly #source: EntrySource;

  constructor(table: string, source: EntrySource) {
    this.#table = table;
    this.#source = source;
  }

  /** Replaces an expired entry. For another one, it changes nothing and tells a 1. */
  async insertEntry(put: EntryPut): Promise<boolean> {
    const now = Date.now();
    const renewed = (column: string, other = column) =>
      `${column} = IF(${ALIVE}, ${other}, VALUES(${column}))`;
    // Assignments run from left to right: the last one changes what the others compare.
    const changes = [
      renewed("version", "version + 0 * LAST_INSERT_ID(1)"),
      renewed("sort"),
      renewed("value"),
    ];
    const { told } = await this.#source.sendOnce(
      request(
        `INSERT INTO ${this.#table} (list, entry_key, id, name, sort, version, value, expires_at) ` +
          `VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE ${changes.join(", ")}, ${renewed("expires_at")}`,
        [...placeOf(put), toBytes(put.index), ...fieldsOf(put), now, now, now, now],
      ),
    );
    return told === 0;
  }

  /** Tells the version that it found, and 1, because a version may be 0. */
  async updateEntry(put: EntryPut): Promise<number | null> {
    const names = ["sort", "version", "value", "expires_at"];
    const fields = names.map((name, at) => ({ name, value: fieldsOf(put)[at] ?? null }));
    // The version last, which the others compare.
    const changed = [...fields.filter(({ name }) => name !== "version"), ...fields.slice(1, 2)];
    const { told } = await this.#source.send(
      request(
        `UPDATE ${this.#table} SET version = LAST_INSERT_ID(version + 1) - 1, ` +
          `${changed.map(({ name }) => `${name} = IF(version < ?, ?, ${name})`).join(", ")} ` +
          `WHERE list = ? AND entry_key = ? AND id = ? AND ${ALIVE}`,
        [...changed.flatMap(({ value }) => [put.version, value]), ...placeOf(put), Date.now()],
      ),
    );
    return told === 0 ? null : told - 1;
  }

  async removeEntry(place: EntryPlace): Promise<boolean> {
    const { rows } = await this.#source.send(
      request(`DELETE FROM ${this.#table} WHERE list = ? AND entry_key = ? AND id = ? RETURNING ${ALIVE}`, [
        ...placeOf(place),
        Date.now(),
      ]),
    );
    return Number(rows[0]?.[0]) === 1;
  }

  async entriesOf({ index, key }: Pick<EntryPlace, "index" | "key">): Promise<readonly StoredEntry[]> {
    const { rows } = await this.#source.send(
      request(`SELECT ${COLUMNS} FROM ${this.#table} WHERE list = ? AND entry_key = ? AND ${ALIVE}`, [
        ...[listOf(index), toBytes(key), Date.now()],
      ]),
    );
    return rows.map(entryOf);
  }

  async listEntries({ index, direction, limit, after }: EntriesRequest): Promise<EntryPage> {
    const [comparison, order] = direction === "up" ? [">", "ASC"] : ["<", "DESC"];
    const [sort, key, id] = partsOf(after ?? SORT_KEY_ENDS[direction]);
    const columns = ["sort", "entry_key", "id"];
    const { rows } = await this.#source.send(
      request(
        `SELECT ${COLUMNS} FROM ${this.#table} FORCE INDEX (by_order) WHERE list = ? AND (sort ${comparison} ? OR sort = ? AND ` +
          `(entry_key ${comparison} ? OR entry_key = ? AND id ${comparison} ?)) AND ${ALIVE} ` +
          `ORDER BY ${columns.map((column) => `${column} ${order}`).join(", ")} LIMIT ?`,
        [listOf(index), sort, sort, key, key, id, Date.now(), limit + 1],
      ),
    );
    return entryPageOf(rows.map(entryOf), limit);
  }

  async listIndexes(asked: IndexesRequest): Promise<IndexListing> {
    const { prefix, limit } = asked;
    const { rows } = await this.#source.send(
      request(
        `SELECT DISTINCT name FROM ${this.#table} WHERE ${namesBetween("name")} AND ${ALIVE} ORDER BY name LIMIT ?`,
        [...boundsOf(prefix, nameOfCursor(asked) ?? ""), Date.now(), limit + 1],
      ),
    );
    return indexListingOf(
      rows.map(([name]) => fromBytes(name)),
      limit,
    );
  }
}

/** A digest of an index's name. No entry has an empty key. */
const listOf = (index: string): Buffer => toBytes(keyDigest({ index, key: "" }));

/** The primary key. */
const placeOf = ({ index, key, id }: EntryPlace): Value[] => [listOf(index), toBytes(key), toBytes(id)];

/** The columns sort, version, value and expires_at. */
function fieldsOf(put: EntryPut): Value[] {
  const { version, value, expiresAt } = put;
  return [toBytes(sortKey(put).slice(0, 16)), version, toBytes(value), toExpiry(expiresAt)];
}

/** The columns sort, entry_key and id of a sort key. */
function partsOf(sort: string): [Buffer, Buffer, Buffer] {
  const digits = sort.slice(0, 16);
  const [, id = ""] = sort.split("\x01");
  // An id is written in a sort key as a key is.
  return [toBytes(digits), toBytes(keyOf(sort)), toBytes(keyOf(digits + id))];
}

/** A value that is not of its type fails when it is read. */
function entryOf([key, id, version, sort, value, expiresAt]: readonly unknown[]): StoredEntry {
  return {
    ...{ key: fromBytes(key), id: fromBytes(id) },
    ...{ version: Number(version), order: orderOf(fromBytes(sort)), value: fromBytes(value) },
    ...(expiresAt !== null && { expiresAt: Number(expiresAt) }),
  };
}
