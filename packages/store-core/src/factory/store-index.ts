import { byteLength } from "#runtime";
import {
  checkOptions,
  checkValue,
  invalid,
  isCount,
  isId,
  isIntegerUpTo,
  isOneOf,
  isSignal,
  isString,
} from "../arguments.ts";
import { decodeText, encodeText } from "../codec/base64.ts";
import { type Codec, jsonCodec } from "../codec/codec.ts";
import { bindingOf, decodeEntry, isRecordTime } from "../codec/record.ts";
import { compareBytes, type EntryPlace, SortKey, type StoredEntry } from "../driver/entry-index.ts";
import { StoreError } from "../errors.ts";
import { randomId } from "../random.ts";
import type { StoreContext } from "../store/store-context.ts";
import { isVector, isVectors, unitVector } from "./entry-vectors.ts";
import { listChecks } from "./list-threads.ts";

const MAX_PAGE = 100;

/** The key and id of an entry: well-formed strings of 1 to 1,024 bytes. */
type EntryKey = Omit<EntryPlace, "index">;

/** The content of an entry. */
interface EntryContent {
  /** An integer of 0 or more. An update replaces only a lower one. */
  readonly version: number;
  /** The place in the index: any finite number. Entries of one order are sorted by their keys' UTF-8. */
  readonly order: number;
  /** Any value that a message can contain, of at most 32 KiB when encoded by the factory's codec. */
  readonly value: unknown;
  /** In milliseconds since 1970. Default: never. */
  readonly expiresAt?: number | undefined;
  /**
   * For {@link StoreIndex.nearest}: vectors of one dimension, of which only the direction counts. An insert without them inserts none, an
   * update without them keeps those of the entry, and `[]` removes them. Entries are returned without them.
   */
  readonly vectors?: readonly (readonly number[])[] | undefined;
}

/** An entry of an index. */
export interface IndexEntry extends EntryKey, Omit<EntryContent, "vectors"> {
  /** Why the value cannot be read: a StoreError `CORRUPT`; `value` is then undefined. Absent for a readable value. */
  readonly problem?: StoreError;
}

/** The options of {@link StoreIndex.list}. */
interface ListEntriesOptions {
  /** By rising or by falling order. Default `"up"`. */
  direction?: "up" | "down";
  /** The maximum number of entries on a page, from 1 to 100. Default: 100. */
  limit?: number;
  /** The cursor of the previous page. Default: the first page. */
  cursor?: string;
  signal?: AbortSignal;
}

/** One page of an index. */
interface EntryList {
  readonly entries: readonly IndexEntry[];
  /** Absent on the last page. A page with a cursor may have fewer entries than the limit. */
  readonly cursor?: string;
}

/** The options of {@link StoreFactory.listIndexes}. */
export interface ListIndexesOptions {
  /** Lists only indexes whose names begin with this prefix. Default: all. */
  prefix?: string;
  /** The maximum number of names on a page, from 1 to 1,000. Default: 100. */
  limit?: number;
  /** The cursor of the previous page. Default: the first page. */
  cursor?: string;
  signal?: AbortSignal;
}

/** One page of the names of indexes. */
export interface IndexList {
  readonly names: readonly string[];
  /** Absent on the last page. */
  readonly cursor?: string;
}

interface CallOptions {
  signal?: AbortSignal;
}

/**
 * A sorted list of small entries beside the threads, on the index of the database (C23). Each call is one request. An expired entry
 * counts as absent. A damaged value does not hide its entry.
 */
export interface StoreIndex {
  readonly name: string;
  /**
   * Inserts an entry, unless there is one of its key and id. It is not retried: after `UNAVAILABLE` the entry may be there.
   *
   * @returns whether it was inserted.
   */
  insert(place: EntryKey, content: EntryContent, options?: CallOptions): Promise<boolean>;
  /**
   * Replaces an entry that is there and has a lower version. Never creates one.
   *
   * It is retried: after a lost reply it may find its own version.
   *
   * @returns the version that it found, lower than `content.version` if it was replaced; `null` if there is no entry.
   */
  update(place: EntryKey, content: EntryContent, options?: CallOptions): Promise<number | null>;
  /** @returns whether there was an entry. After a lost reply it is retried, and then finds none. */
  remove(place: EntryKey, options?: CallOptions): Promise<boolean>;
  /** All entries of a key, by id. */
  entriesOf(key: string, options?: CallOptions): Promise<IndexEntry[]>;
  /** A page of the index. An entry that does not change while one pages comes exactly once. */
  list(options?: ListEntriesOptions): Promise<EntryList>;
  /** The maximum number of dimensions of vectors; 0 if the index cannot have any. */
  readonly maxDimensions: number;
  /**
   * The entries whose vectors are nearest to a vector, best first, then in the order of the index. An entry counts by the best of its
   * vectors. Entries without vectors of the same dimensions are absent. It compares the vector with each entry of the range.
   *
   * @param options `after`, `before`: only entries between two cursors of {@link StoreIndex.cursorAfter} for `"up"`. `limit`: from 1 to
   *   100, default 100. `offset`: the number of nearer entries to leave out.
   * @returns with `score`, the cosine: from -1 to 1, where 1 is the same direction.
   * @throws StoreError `UNSUPPORTED`, without a request, if {@link StoreIndex.maxDimensions} is 0.
   */
  nearest(
    vector: readonly number[],
    options?: { after?: string; before?: string; limit?: number; offset?: number; signal?: AbortSignal },
  ): Promise<(IndexEntry & { readonly score: number })[]>;
  /** The cursor of the page that begins after an entry, in one direction. Does no I/O. */
  cursorAfter(entry: EntryKey & Pick<EntryContent, "order">, direction: "up" | "down"): string;
}

const contentChecks = {
  version: isCount,
  order: (value: unknown) => (Number.isFinite(value) ? undefined : "must be a finite number"),
  value: () => undefined,
  expiresAt: isRecordTime,
  vectors: isVectors,
};
const placeChecks = { key: isId, id: isId };
const callChecks = { signal: isSignal };
const pageChecks = {
  direction: isOneOf("up", "down"),
  limit: isIntegerUpTo(MAX_PAGE),
  cursor: isString,
  signal: isSignal,
};
const nearestChecks = {
  after: isString,
  before: isString,
  limit: isIntegerUpTo(MAX_PAGE),
  offset: isCount,
  signal: isSignal,
};

/** The index of a name. @throws StoreError `UNSUPPORTED` if the driver has none. */
export function storeIndexOf<M>(context: StoreContext<M>, name: string, codec = context.codec): StoreIndex {
  context.assertOpen();
  checkValue("index", "name", isId, name);
  const { driver, maxValueBytes, maxDimensions } = indexOf(context);

  const putOf = (method: string, place: EntryKey, content: EntryContent, options: CallOptions) => {
    context.assertOpen();
    checkOptions(method, place, placeChecks, ["key", "id"]);
    checkOptions(method, content, contentChecks, ["version", "order"]);
    checkOptions(method, options, callChecks);
    const { key, id } = place;
    const { version, order, value, expiresAt, vectors } = content;
    const text = encoded(codec, { index: name, key, id }, value);
    if (byteLength(text) > maxValueBytes)
      throw new StoreError("TOO_LARGE", `${method}: the value takes more than ${maxValueBytes} bytes`);
    const put = { index: name, key, id, version, order: order + 0, value: text, signal: options.signal };
    if (vectors?.[0]) assertVectors(method, vectors[0].length);
    return {
      ...put,
      ...(expiresAt !== undefined && { expiresAt }),
      ...(vectors && driver.nearestEntries && { vectors: vectors.map(unitVector) }),
    };
  };
  const assertVectors = (method: string, dimensions: number) => {
    if (maxDimensions === 0)
      throw new StoreError(
        "UNSUPPORTED",
        context.codec === jsonCodec
          ? `${method}: the ${context.driver.capabilities.backend} backend cannot search by vectors`
          : `${method}: vectors are not encoded, so they need stores without a codec`,
      );
    if (dimensions > maxDimensions)
      invalid(`${method}: a vector must have at most ${maxDimensions} dimensions`);
  };
  const entryOf = <E extends StoredEntry>(entry: E): E & IndexEntry => {
    const { key, id } = entry;
    try {
      return { ...entry, value: decodeEntry(codec, entry.value, { index: name, key, id }) };
    } catch (error) {
      if (!StoreError.is(error, "CORRUPT")) throw error;
      return { ...entry, value: undefined, problem: error };
    }
  };

  return {
    name,
    async insert(place, content, options = {}) {
      const put = putOf("insert", place, content, options);
      return await context.once(() => driver.insertEntry(put), options.signal);
    },
    async update(place, content, options = {}) {
      const put = putOf("update", place, content, options);
      return await context.request(() => driver.updateEntry(put), options.signal);
    },
    async remove(place, options = {}) {
      context.assertOpen();
      checkOptions("remove", place, placeChecks, ["key", "id"]);
      checkOptions("remove", options, callChecks);
      const { key, id } = place;
      const { signal } = options;
      return await context.request(() => driver.removeEntry({ index: name, key, id, signal }), signal);
    },
    async entriesOf(key, options = {}) {
      context.assertOpen();
      checkOptions("entriesOf", { key }, placeChecks, ["key"]);
      checkOptions("entriesOf", options, callChecks);
      const { signal } = options;
      const entries = await context.request(() => driver.entriesOf({ index: name, key, signal }), signal);
      return entries.map(entryOf).sort((one, other) => compareBytes(one.id, other.id));
    },
    async list(options = {}) {
      context.assertOpen();
      checkOptions("list", options, pageChecks);
      const { direction = "up", limit = MAX_PAGE, cursor, signal } = options;
      const after = cursor === undefined ? undefined : parsedCursor("list: cursor", cursor, direction);
      const request = { index: name, direction, limit, after, signal };
      const { entries, next } = await context.request(() => driver.listEntries(request), signal);
      return { entries: entries.map(entryOf), ...(next && { cursor: formattedCursor(next, direction) }) };
    },
    maxDimensions,
    async nearest(vector, options = {}) {
      context.assertOpen();
      checkOptions("nearest", { vector }, { vector: isVector }, ["vector"]);
      checkOptions("nearest", options, nearestChecks);
      assertVectors("nearest", vector.length);
      const { limit = MAX_PAGE, offset = 0, signal } = options;
      const request = {
        ...{ index: name, vector: unitVector(vector), limit, offset, signal },
        after:
          options.after === undefined ? SortKey.ENDS.up : parsedCursor("nearest: after", options.after, "up"),
        before:
          options.before === undefined
            ? SortKey.ENDS.down
            : parsedCursor("nearest: before", options.before, "up"),
      };
      const found = await context.request(async () => (await driver.nearestEntries?.(request)) ?? [], signal);
      // Rounded, the product of two vectors of length 1 may be a little outside.
      return found.map((entry) => entryOf({ ...entry, score: Math.max(-1, Math.min(1, entry.score)) }));
    },
    cursorAfter: (entry, direction) => formattedCursor(SortKey.of(entry), direction),
  };
}

/** One page of the names of a factory's indexes. */
export async function listIndexes<M>(
  context: StoreContext<M>,
  options: ListIndexesOptions,
): Promise<IndexList> {
  context.assertOpen();
  checkOptions("listIndexes", options, listChecks);
  const { driver } = indexOf(context);
  const { prefix = "", limit = MAX_PAGE, cursor, signal } = options;
  const page = await context.request(() => driver.listIndexes({ prefix, limit, cursor, signal }), signal);
  return { names: page.names, ...(page.cursor !== undefined && { cursor: page.cursor }) };
}

function indexOf<M>({ driver, codec }: StoreContext<M>) {
  const { index, capabilities } = driver;
  if (index && capabilities.index) {
    const { maxValueBytes, vectors } = capabilities.index;
    return {
      driver: index,
      maxValueBytes,
      maxDimensions: codec === jsonCodec ? (vectors?.maxDimensions ?? 0) : 0,
    };
  }
  throw new StoreError(
    "UNSUPPORTED",
    `index: the ${capabilities.backend} backend has no index, so it cannot keep lists`,
  );
}

function encoded(codec: Codec, place: EntryPlace, value: unknown): string {
  const write = { threadId: bindingOf(place), operationId: randomId(), kind: "e", index: 0 } as const;
  return codec.encode(value ?? null, write);
}

function formattedCursor(next: string, direction: "up" | "down"): string {
  return `${direction}.${encodeText(next)}`;
}

/** @param what the method and its option, for the error. */
function parsedCursor(what: string, cursor: string, direction: "up" | "down"): string {
  const [given, text = ""] = cursor.split(".");
  const next = decodeText(text) ?? "";
  if (given !== direction || !/^[\da-f]{16}/.test(next))
    invalid(`${what} must be a cursor for "${direction}" that list() or cursorAfter() of this index gave`);
  return next;
}
