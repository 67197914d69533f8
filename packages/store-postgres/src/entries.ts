import {
  type EntriesRequest,
  type EntryIndex,
  type EntryPage,
  EntryPlace,
  type EntryPut,
  type IndexesRequest,
  IndexListing,
  SortKey,
  type StoredEntry,
} from "@scrollback/store-core/driver";
import type { Functions } from "./functions.ts";
import type { Rows, Value } from "./sessions.ts";
import { fromText, toBigint, toText } from "./text.ts";

/** What the functions return of an entry. */
const COLUMNS = ["key", "id", "version", "sort", "value", "expires_at"];

/** The index: one row per entry in the table `entries`. Each verb calls one function of 004-entries.sql. */
export class PostgresEntries implements EntryIndex {
  readonly #functions: Functions;

  constructor(functions: Functions) {
    this.#functions = functions;
  }

  async insertEntry(put: EntryPut): Promise<boolean> {
    return (await this.#functions.value("insert_entry_v1", putArguments(put))) === "true";
  }

  async updateEntry(put: EntryPut): Promise<number | null> {
    const version = await this.#functions.value("update_entry_v1", putArguments(put));
    return version === null ? null : Number(version);
  }

  async removeEntry(place: EntryPlace): Promise<boolean> {
    return (await this.#functions.value("remove_entry_v1", [EntryPlace.digest(place)])) === "true";
  }

  async entriesOf(place: Pick<EntryPlace, "index" | "key">): Promise<readonly StoredEntry[]> {
    return (await this.#functions.rows("entries_of_v1", COLUMNS, [EntryPlace.keyDigest(place)])).map(entryOf);
  }

  async listEntries({ index, direction, limit, after }: EntriesRequest): Promise<EntryPage> {
    const from = after?.startsWith(RAW) ? after.slice(RAW.length) : (after ?? ENDS[direction]);
    const values = [toText(index), direction === "down", from, limit + 1];
    const rows = await this.#functions.rows("list_entries_v1", COLUMNS, values);
    const last = rows.length > limit ? rows[limit - 1]?.[3] : undefined;
    const entries = rows.slice(0, limit).map(entryOf);
    return { entries, ...(last != null && { next: isSortKey.test(last) ? last : `${RAW}${last}` }) };
  }

  async nearestEntries(request: Parameters<NonNullable<EntryIndex["nearestEntries"]>>[0]) {
    const { index, after, before, vector, limit, offset } = request;
    const values = [toText(index), after, before, arrayOf(vector), limit, offset];
    const rows = await this.#functions.rows("nearest_entries_v1", [...COLUMNS, "score"], values);
    return rows.map((row) => ({ ...entryOf(row), score: Number(row[6]) }));
  }

  async listIndexes(request: IndexesRequest): Promise<IndexListing> {
    const { prefix, limit } = request;
    const values = [toText(prefix), toText(IndexListing.nameOfCursor(request) ?? ""), limit + 1];
    const rows = await this.#functions.rows("list_indexes_v1", ["name"], values);
    return IndexListing.of(
      rows.map(([name]) => fromText(String(name))),
      limit,
    );
  }
}

/** The arguments of a write. */
function putArguments(put: EntryPut): Value[] {
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

/** Below, and above, every text: also above a sort key that is damaged. */
const ENDS = { up: "", down: "\u{10ffff}" };
/** The beginning of a sort key: an order, and something of a key. */
const isSortKey = /^[\da-f]{16}./s;
/** Begins the cursor behind a damaged sort key, which follows. No sort key begins so. */
const RAW = `${"0".repeat(16)}\x02\x02`;
/** The value of an entry with a damaged column: it is unreadable, so store-core reports the entry. */
const UNREADABLE = "";

function entryOf([storedKey, storedId, version, sort, value, expires]: Rows[number]): StoredEntry {
  const [key, id] = [fromText(String(storedKey)), fromText(String(storedId))];
  const order = isSortKey.test(String(sort)) ? SortKey.orderOf(String(sort)) : 0;
  const expiresAt = Number(expires);
  const isWhole =
    Number.isFinite(order) && SortKey.of({ order, key, id }) === sort && Number.isSafeInteger(expiresAt);
  return {
    ...{ key, id, version: Number(version), order, value: isWhole ? fromText(String(value)) : UNREADABLE },
    ...(expires !== null && { expiresAt }),
  };
}
