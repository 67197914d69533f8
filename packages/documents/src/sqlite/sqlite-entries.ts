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
import type { SqliteClient, SqliteRow, SqliteStatement } from "./client.ts";
import { boundsOf, fromStored, namesBetween, toStored } from "./text.ts";

const AT_PLACE = "name = ? AND key = ? AND id = ?";
const IS_ALIVE = "(expires_at IS NULL OR expires_at > ?)";

/** The index in a table: one row per entry. Each verb is one batch. A write first deletes the expired entries of its index. */
export class SqliteEntries implements EntryIndex {
  readonly #client: Pick<SqliteClient, "batch">;
  readonly #table: string;

  constructor(client: Pick<SqliteClient, "batch">, table: string) {
    this.#client = client;
    this.#table = table;
  }

  async insertEntry(put: EntryPut): Promise<boolean> {
    const [rows] = await this.#write(put, {
      sql: `INSERT INTO ${this.#table} (version, sort, value, expires_at, name, key, id) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1`,
      parameters: [...fieldsOf(put), ...placeOf(put)],
    });
    return rows?.length === 1;
  }

  async updateEntry(put: EntryPut): Promise<number | null> {
    const [rows] = await this.#write(
      put,
      { sql: `SELECT version FROM ${this.#table} WHERE ${AT_PLACE}`, parameters: placeOf(put) },
      {
        sql: `UPDATE ${this.#table} SET version = ?, sort = ?, value = ?, expires_at = ? WHERE ${AT_PLACE} AND version < ?`,
        parameters: [...fieldsOf(put), ...placeOf(put), put.version],
      },
    );
    const [found] = rows ?? [];
    return found ? Number(found.version) : null;
  }

  async removeEntry(place: EntryPlace): Promise<boolean> {
    const [rows] = await this.#write(place, {
      sql: `DELETE FROM ${this.#table} WHERE ${AT_PLACE} RETURNING 1`,
      parameters: placeOf(place),
    });
    return rows?.length === 1;
  }

  async entriesOf({ index, key }: Pick<EntryPlace, "index" | "key">): Promise<StoredEntry[]> {
    const rows = await this.#read("key = ?", index, toStored(key));
    return rows.map(entryOf);
  }

  async listEntries({ index, direction, limit, after }: EntriesRequest): Promise<EntryPage> {
    const [than, order] = direction === "up" ? [">", "ASC"] : ["<", "DESC"];
    const rows = await this.#read(
      `sort ${than} ?`,
      index,
      after ?? SortKey.ENDS[direction],
      `ORDER BY sort ${order} LIMIT ?`,
      limit + 1,
    );
    return EntryPage.of(rows.map(entryOf), limit);
  }

  async listIndexes(asked: IndexesRequest): Promise<IndexListing> {
    const { prefix, limit } = asked;
    const [rows = []] = await this.#client.batch([
      {
        sql: `SELECT DISTINCT name FROM ${this.#table} WHERE ${namesBetween("name")} AND ${IS_ALIVE} ORDER BY name LIMIT ?`,
        parameters: [...boundsOf(prefix, IndexListing.nameOfCursor(asked) ?? ""), Date.now(), limit + 1],
      },
    ]);
    return IndexListing.of(
      rows.map(({ name }) => fromStored(name)),
      limit,
    );
  }

  /** @param last the values in `rest`. */
  async #read(
    condition: string,
    index: string,
    value: string,
    rest = "",
    ...last: SqliteStatement["parameters"]
  ): Promise<readonly SqliteRow[]> {
    const [rows = []] = await this.#client.batch([
      {
        sql: `SELECT * FROM ${this.#table} WHERE name = ? AND ${condition} AND ${IS_ALIVE} ${rest}`,
        parameters: [toStored(index), value, Date.now(), ...last],
      },
    ]);
    return rows;
  }

  async #write({ index }: Pick<EntryPlace, "index">, ...statements: SqliteStatement[]) {
    const sweep = `DELETE FROM ${this.#table} WHERE name = ? AND expires_at <= ?`;
    const rows = await this.#client.batch([
      { sql: sweep, parameters: [toStored(index), Date.now()] },
      ...statements,
    ]);
    return rows.slice(1);
  }
}

const placeOf = ({ index, key, id }: EntryPlace) => [index, key, id].map(toStored);

/** The columns version, sort, value and expires_at. */
const fieldsOf = (put: EntryPut) => [
  put.version,
  SortKey.of(put),
  toStored(put.value),
  put.expiresAt ?? null,
];

/** A value that is not of its type fails when it is read. */
function entryOf({ key, id, sort, version, value, expires_at }: SqliteRow): StoredEntry {
  return {
    ...{ key: fromStored(key), id: fromStored(id), order: SortKey.orderOf(String(sort)) },
    ...{ version: Number(version), value: fromStored(value) },
    ...(expires_at !== null && { expiresAt: Number(expires_at) }),
  };
}
