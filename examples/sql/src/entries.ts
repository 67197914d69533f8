import {
  type EntriesRequest,
  type EntryIndex,
  EntryPage,
  type EntryPlace,
  type EntryPut,
  type IndexesRequest,
  IndexListing,
  SortKey,
  type StoredEntry,
} from "@scrollback/store-core/driver";
import type { SqlClient, Value } from "./client.ts";

/** Names are bytes: they are compared as such, and may contain a NUL. */
export const toBytes = (text: string): Uint8Array => Buffer.from(text);
export const toText = (value: unknown): string => Buffer.from(value as Uint8Array).toString();

/** Names with a prefix: from it, to before it with a byte that UTF-8 does not have. */
export const boundsOf = (prefix: string): Value[] => [
  toBytes(prefix),
  Buffer.concat([toBytes(prefix), Buffer.of(0xff)]),
];

const AT_PLACE = "name = ? AND key = ? AND id = ?";
const alive = () => `(expires IS NULL OR expires > ${Date.now()})`;

/** The index (C23) in a table: each verb is one statement. */
export class SqlEntries implements EntryIndex {
  readonly #client: SqlClient;

  constructor(client: SqlClient) {
    this.#client = client;
  }

  /** An expired entry is replaced. Where there is another one, no row is returned. */
  async insertEntry(put: EntryPut): Promise<boolean> {
    const sql = `INSERT INTO entries (name, key, id, version, sort, value, expires) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (name, key, id) DO UPDATE SET
  version = excluded.version, sort = excluded.sort, value = excluded.value, expires = excluded.expires
WHERE NOT ${alive().replaceAll("expires", "entries.expires")} RETURNING 1`;
    return (await this.#client.run(sql, [...placeOf(put), ...fieldsOf(put)])).length === 1;
  }

  /** `found` is the version that it found: RETURNING has only new values. Expressions see the old ones. */
  async updateEntry(put: EntryPut): Promise<number | null> {
    const changes = ["version", "sort", "value", "expires"].map(
      (column) => `${column} = CASE WHEN version < ? THEN ? ELSE ${column} END`,
    );
    const sql = `UPDATE entries SET found = version, ${changes.join(", ")} WHERE ${AT_PLACE} AND ${alive()} RETURNING found`;
    const values = fieldsOf(put).flatMap((value) => [put.version, value]);
    const [row] = await this.#client.run(sql, [...values, ...placeOf(put)]);
    return row ? Number(row.found) : null;
  }

  async removeEntry(place: EntryPlace): Promise<boolean> {
    const sql = `DELETE FROM entries WHERE ${AT_PLACE} AND ${alive()} RETURNING 1`;
    return (await this.#client.run(sql, placeOf(place))).length === 1;
  }

  async entriesOf({ index, key }: Pick<EntryPlace, "index" | "key">): Promise<StoredEntry[]> {
    const sql = `SELECT * FROM entries WHERE name = ? AND key = ? AND ${alive()}`;
    return (await this.#client.run(sql, [toBytes(index), toBytes(key)])).map(entryOf);
  }

  async listEntries({ index, direction, limit, after }: EntriesRequest): Promise<EntryPage> {
    const [than, order] = direction === "up" ? [">", "ASC"] : ["<", "DESC"];
    const sql = `SELECT * FROM entries WHERE name = ? AND sort ${than} ? AND ${alive()} ORDER BY sort ${order} LIMIT ?`;
    const rows = await this.#client.run(sql, [toBytes(index), after ?? SortKey.ENDS[direction], limit + 1]);
    return EntryPage.of(rows.map(entryOf), limit);
  }

  async listIndexes(asked: IndexesRequest): Promise<IndexListing> {
    const { prefix, limit } = asked;
    const sql = `SELECT DISTINCT name FROM entries WHERE name >= ? AND name < ? AND name > ? AND ${alive()} ORDER BY name LIMIT ?`;
    const after = toBytes(IndexListing.nameOfCursor(asked) ?? "");
    const rows = await this.#client.run(sql, [...boundsOf(prefix), after, limit + 1]);
    return IndexListing.of(
      rows.map(({ name }) => toText(name)),
      limit,
    );
  }
}

const placeOf = ({ index, key, id }: EntryPlace): Value[] => [index, key, id].map(toBytes);

/** The columns version, sort, value and expires. */
const fieldsOf = (put: EntryPut): Value[] => [
  ...[put.version, SortKey.of(put), put.value, put.expiresAt ?? null],
];

function entryOf({ key, id, sort, version, value, expires }: Record<string, unknown>): StoredEntry {
  return {
    ...{ key: toText(key), id: toText(id), order: SortKey.orderOf(String(sort)) },
    ...{ version: Number(version), value: String(value) },
    ...(expires !== null && { expiresAt: Number(expires) }),
  };
}
