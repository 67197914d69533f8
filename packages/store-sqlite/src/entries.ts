import {
  type EntriesRequest,
  EntryPage,
  type EntryPlace,
  type EntryPut,
  type IndexesRequest,
  IndexListing,
  SortKey,
  type StoredEntry,
} from "@scrollback/store-core/driver";
import type { Connection, Values } from "./clients/index.ts";
import { rowsByPrefix } from "./rows-by-prefix.ts";
import { fromStored, toStored } from "./statements.ts";

/** The number of expired entries that a write removes. */
const SWEPT_ENTRIES = 100;

const COLUMNS = `key, id, version, "order", value, expires_at`;

/** The verbs of the index. Each must run in a transaction of its kind. */
export class Entries {
  readonly #find;
  readonly #findAll;
  readonly #insert;
  readonly #delete;
  readonly #deleteExpired;
  readonly #listUp;
  readonly #listDown;
  readonly #names;

  constructor(connection: Connection, prefix: string) {
    const table = `${prefix}entries`;
    const isAlive = "(expires_at IS NULL OR expires_at > ?)";
    this.#find = connection.first(
      `SELECT version FROM ${table} WHERE name = ? AND key = ? AND id = ? AND ${isAlive}`,
    );
    this.#findAll = connection.all(
      `SELECT ${COLUMNS} FROM ${table} WHERE name = ? AND key = ? AND ${isAlive}`,
    );
    this.#insert = connection.command(`INSERT INTO ${table} VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
    this.#delete = connection.command(`DELETE FROM ${table} WHERE name = ? AND key = ? AND id = ?`);
    this.#deleteExpired = connection.command(
      `DELETE FROM ${table} WHERE (name, sort) IN
        (SELECT name, sort FROM ${table} WHERE name = ? AND expires_at <= ? LIMIT ${SWEPT_ENTRIES})`,
    );
    const page = (comparison: string, direction: string) =>
      connection.all(
        `SELECT ${COLUMNS} FROM ${table} WHERE name = ? AND sort ${comparison} ? AND ${isAlive} ORDER BY sort ${direction} LIMIT ?`,
      );
    this.#listUp = page(">", "ASC");
    this.#listDown = page("<", "DESC");
    this.#names = connection.all(
      `SELECT DISTINCT name FROM ${table} WHERE name >= ifnull(?, x'') AND name IS NOT ? AND length(name) > 0 AND ${isAlive} ORDER BY name LIMIT ?`,
    );
  }

  insert(put: EntryPut): boolean {
    if (this.#version(put) !== null) return false;
    this.#replace(put);
    return true;
  }

  update(put: EntryPut): number | null {
    const version = this.#version(put);
    if (version !== null && version < put.version) this.#replace(put);
    return version;
  }

  remove(place: EntryPlace): boolean {
    const isFound = this.#version(place) !== null;
    this.#delete(toStored(place.index), toStored(place.key), toStored(place.id));
    return isFound;
  }

  ofKey({ index, key }: Pick<EntryPlace, "index" | "key">): StoredEntry[] {
    return this.#findAll(toStored(index), toStored(key), Date.now()).map(entryOf);
  }

  list({ index, direction, limit, after }: EntriesRequest): EntryPage {
    const select = direction === "up" ? this.#listUp : this.#listDown;
    const from = after ?? SortKey.ENDS[direction];
    const rows = select(toStored(index), from, Date.now(), limit + 1);
    return EntryPage.of(rows.map(entryOf), limit);
  }

  names(request: IndexesRequest): IndexListing {
    const { prefix, limit } = request;
    const rows = rowsByPrefix(
      { prefix, after: IndexListing.nameOfCursor(request), limit: limit + 1 },
      (from, except, most) => this.#names(from, except, Date.now(), most),
    );
    return IndexListing.of(
      rows.map(([name]) => fromStored(name)),
      limit,
    );
  }

  #version({ index, key, id }: EntryPlace): number | null {
    const found = this.#find(toStored(index), toStored(key), toStored(id), Date.now());
    return found ? Number(found[0]) : null;
  }

  #replace(put: EntryPut): void {
    const { index, key, id, version, order, value, expiresAt = null } = put;
    const [name, storedKey, storedId] = [toStored(index), toStored(key), toStored(id)];
    this.#deleteExpired(name, Date.now());
    this.#delete(name, storedKey, storedId);
    this.#insert(name, SortKey.of(put), storedKey, storedId, version, order, toStored(value), expiresAt);
  }
}

/** The entry of the {@link COLUMNS}. A value that is not of its type fails when it is read. */
function entryOf([key, id, version, order, value, expiresAt]: Values): StoredEntry {
  const entry = {
    key: fromStored(key),
    id: fromStored(id),
    version: Number(version),
    order: Number(order),
    value: fromStored(value),
  };
  return expiresAt === null ? entry : { ...entry, expiresAt: Number(expiresAt) };
}
