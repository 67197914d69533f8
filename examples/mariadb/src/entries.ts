import {
  type EntriesRequest,
  type EntryIndex,
  EntryPage,
  EntryPlace,
  type EntryPut,
  type IndexesRequest,
  IndexListing,
  SortKey,
  type StoredEntry,
} from "@scrollback/store-core/driver";
import { boundsOf, fromBytes, namesBetween, type Send, select, toBytes, type Value } from "./statements.ts";

const COLUMNS = ["entry_key", "id", "version", "sort", "value", "expires_at"];
const AT_PLACE = "list = ? AND entry_key = ? AND id = ?";
const alive = () => `(expires_at IS NULL OR expires_at > ${Date.now()})`;

/** The index in a table of its own: one row per entry, see `entriesDefinition`. Each verb is one statement. */
export class MariadbEntries implements EntryIndex {
  readonly #table: string;
  readonly #send: Send;

  constructor(table: string, send: Send) {
    this.#table = table;
    this.#send = send;
  }

  /** Replaces an expired entry. Where there is another one, it changes nothing, and the `insertId` is 1. */
  async insertEntry(put: EntryPut): Promise<boolean> {
    const isThere = alive();
    const { sort, version, value, expiresAt } = fieldsOf(put);
    const { insertId } = await this.#send(
      `INSERT INTO ${this.#table} (list, entry_key, id, name, sort, version, value, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE
  version = IF(${isThere}, version + 0 * LAST_INSERT_ID(1), VALUES(version)),
  sort = IF(${isThere}, sort, VALUES(sort)),
  value = IF(${isThere}, value, VALUES(value)),
  expires_at = IF(${isThere}, expires_at, VALUES(expires_at))`,
      [...placeOf(put), toBytes(put.index), sort, version, value, expiresAt],
    );
    return insertId === 0;
  }

  /** The `insertId` is the version that it found, and 1, because a version may be 0. Assignments run from left to right. */
  async updateEntry(put: EntryPut): Promise<number | null> {
    const { sort, version, value, expiresAt } = fieldsOf(put);
    const { insertId } = await this.#send(
      `UPDATE ${this.#table} SET
  version = LAST_INSERT_ID(version + 1) - 1,
  sort = IF(version < ?, ?, sort),
  value = IF(version < ?, ?, value),
  expires_at = IF(version < ?, ?, expires_at),
  version = GREATEST(version, ?)
WHERE ${AT_PLACE} AND ${alive()}`,
      [version, sort, version, value, version, expiresAt, version, ...placeOf(put)],
    );
    return insertId === 0 ? null : insertId - 1;
  }

  async removeEntry(place: EntryPlace): Promise<boolean> {
    const { count } = await this.#send(
      `DELETE FROM ${this.#table} WHERE ${AT_PLACE} AND ${alive()}`,
      placeOf(place),
    );
    return count === 1;
  }

  async entriesOf({ index, key }: Pick<EntryPlace, "index" | "key">): Promise<readonly StoredEntry[]> {
    const { rows } = await this.#send(
      select(COLUMNS, `FROM ${this.#table} WHERE list = ? AND entry_key = ? AND ${alive()}`),
      [listOf(index), toBytes(key)],
    );
    return rows.map(entryOf);
  }

  async listEntries({ index, direction, limit, after }: EntriesRequest): Promise<EntryPage> {
    const [than, order] = direction === "up" ? [">", "ASC"] : ["<", "DESC"];
    const [sort, key, id] = partsOf(after ?? SortKey.ENDS[direction]);
    const { rows } = await this.#send(
      select(
        COLUMNS,
        `FROM ${this.#table} FORCE INDEX (by_order) WHERE list = ?
AND (sort ${than} ? OR sort = ? AND (entry_key ${than} ? OR entry_key = ? AND id ${than} ?)) AND ${alive()}
ORDER BY sort ${order}, entry_key ${order}, id ${order} LIMIT ?`,
      ),
      [listOf(index), sort, sort, key, key, id, limit + 1],
    );
    return EntryPage.of(rows.map(entryOf), limit);
  }

  async listIndexes(asked: IndexesRequest): Promise<IndexListing> {
    const { prefix, limit } = asked;
    const { rows } = await this.#send(
      select(
        ["DISTINCT name"],
        `FROM ${this.#table} WHERE ${namesBetween("name")} AND ${alive()} ORDER BY name LIMIT ?`,
      ),
      [...boundsOf(prefix, IndexListing.nameOfCursor(asked) ?? ""), limit + 1],
    );
    return IndexListing.of(
      rows.map(([name]) => fromBytes(name)),
      limit,
    );
  }
}

/** A digest of an index's name. No entry has an empty key. */
const listOf = (index: string): Buffer => toBytes(EntryPlace.keyDigest({ index, key: "" }));

/** The primary key. */
const placeOf = ({ index, key, id }: EntryPlace): Value[] => [listOf(index), toBytes(key), toBytes(id)];

/** The other columns. */
function fieldsOf(put: EntryPut): { sort: Value; version: Value; value: Value; expiresAt: Value } {
  return {
    ...{ sort: toBytes(SortKey.of(put).slice(0, 16)), version: put.version },
    ...{ value: toBytes(put.value), expiresAt: put.expiresAt ?? null },
  };
}

/** The columns sort, entry_key and id of a sort key. */
function partsOf(sort: string): [Buffer, Buffer, Buffer] {
  const digits = sort.slice(0, 16);
  const [, id = ""] = sort.split("\x01");
  // An id is written in a sort key as a key is.
  return [toBytes(digits), toBytes(SortKey.keyOf(sort)), toBytes(SortKey.keyOf(digits + id))];
}

/** A value that is not of its type fails when it is read. */
function entryOf([key, id, version, sort, value, expiresAt]: readonly unknown[]): StoredEntry {
  return {
    ...{ key: fromBytes(key), id: fromBytes(id) },
    ...{ version: Number(version), order: SortKey.orderOf(fromBytes(sort)), value: fromBytes(value) },
    ...(expiresAt !== null && { expiresAt: Number(expiresAt) }),
  };
}
