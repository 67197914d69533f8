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
import type { Functions } from "./functions.ts";
import { fromText, toBigint, toText } from "./text.ts";

/** The index: one row per entry in the table `entries`. Each verb calls one function of 004-entries.sql. */
export class PostgresEntries implements EntryIndex {
  readonly #functions: Functions;

  constructor(functions: Functions) {
    this.#functions = functions;
  }

  async insertEntry(put: EntryPut): Promise<boolean> {
    return (await this.#functions.value("insert_entry_v1", putArguments(put), "once")) === true;
  }

  async updateEntry(put: EntryPut): Promise<number | null> {
    const version = await this.#functions.value("update_entry_v1", putArguments(put));
    return version == null ? null : Number(version);
  }

  async removeEntry(place: EntryPlace): Promise<boolean> {
    return (await this.#functions.value("remove_entry_v1", [EntryPlace.digest(place)])) === true;
  }

  async entriesOf(place: Pick<EntryPlace, "index" | "key">): Promise<readonly StoredEntry[]> {
    return (await this.#functions.rows("entries_of_v1", [EntryPlace.keyDigest(place)])).map(entryOf);
  }

  async listEntries({ index, direction, limit, after }: EntriesRequest): Promise<EntryPage> {
    const values = [toText(index), direction === "down", after ?? SortKey.ENDS[direction], limit + 1];
    return EntryPage.of((await this.#functions.rows("list_entries_v1", values)).map(entryOf), limit);
  }

  async nearestEntries(request: Parameters<NonNullable<EntryIndex["nearestEntries"]>>[0]) {
    const { index, after, before, vector, limit, offset } = request;
    const values = [toText(index), after, before, arrayOf(vector), limit, offset];
    const rows = await this.#functions.rows("nearest_entries_v1", values);
    return rows.map((row) => ({ ...entryOf(row), score: Number(row[6]) }));
  }

  async listIndexes(request: IndexesRequest): Promise<IndexListing> {
    const { prefix, limit } = request;
    const values = [toText(prefix), toText(IndexListing.nameOfCursor(request) ?? ""), limit + 1];
    const rows = await this.#functions.rows("list_indexes_v1", values);
    return IndexListing.of(
      rows.map(([name]) => fromText(String(name))),
      limit,
    );
  }
}

/** The arguments of a write. */
function putArguments(put: EntryPut): unknown[] {
  const { index, key, id, version, value, expiresAt, vectors } = put;
  const names = [EntryPlace.digest(put), toText(index), toText(key), toText(id)];
  return [
    ...names,
    SortKey.of(put),
    version,
    toText(value),
    expiresAt === undefined ? null : toBigint(expiresAt),
    vectors?.[0]?.length ?? null,
    vectors ? arrayOf(vectors.flat()) : null,
  ];
}

/** An array as the text that every client sends. */
function arrayOf(numbers: readonly number[]): string {
  return `{${numbers.join()}}`;
}

/** A value that is not of its type fails when it is read. */
function entryOf([key, id, version, sort, value, expiresAt]: readonly unknown[]): StoredEntry {
  return {
    ...{ key: fromText(String(key)), id: fromText(String(id)) },
    ...{ version: Number(version), order: SortKey.orderOf(String(sort)), value: fromText(String(value)) },
    ...(expiresAt !== null && { expiresAt: Number(expiresAt) }),
  };
}
