import { sha256 } from "#runtime";
import { IdCursor } from "./id-cursor.ts";

/**
 * The index of a driver: entries beside threads, on the database's own sorted index. Layers keep lists on it. Each verb is one
 * request and one atomic step. Names, keys and ids are any well-formed strings of 1 to 1,024 bytes; those of two indexes, two keys or
 * two ids never collide. Every read that starts after a write returned sees it.
 *
 * An expired entry counts as absent for every verb. Its rest is removed at the latest by the index's next write or by the backend
 * itself. What is removed, or replaced by an update, is gone from the backend as a thread's content is after its deletion.
 */
export interface EntryIndex {
  /**
   * Inserts an entry, unless there is one at its place. Never repeated by store-core, by the driver or by its client: an insert whose
   * reply was lost may have happened.
   *
   * @returns whether it was inserted.
   */
  insertEntry(request: EntryPut): Promise<boolean>;
  /**
   * Replaces an entry if there is one at its place and it has a lower version. Never creates one.
   *
   * @returns the version that it found: lower than the new one if it was replaced; `null` if there is no entry.
   */
  updateEntry(request: EntryPut): Promise<number | null>;
  /** @returns whether there was an entry. */
  removeEntry(request: EntryPlace & WithSignal): Promise<boolean>;
  /** Returns all entries of a key, in any order: rarely more than one. */
  entriesOf(
    request: { readonly index: string; readonly key: string } & WithSignal,
  ): Promise<readonly StoredEntry[]>;
  /** See {@link EntriesRequest} and {@link EntryPage}. */
  listEntries(request: EntriesRequest): Promise<EntryPage>;
  /**
   * Returns the entries whose vectors are nearest to a vector, with the highest cosine first, then by {@link SortKey}. An entry counts by
   * the best of its vectors. Entries without vectors, or with vectors of other dimensions, are absent. Absent if `capabilities.index`
   * has no `vectors`.
   */
  nearestEntries?(request: NearestRequest): Promise<readonly ScoredEntry[]>;
  /**
   * Lists the names of indexes that have entries, in no particular order. A name that has entries during the whole listing is on at
   * least one page, perhaps on several. The limit of a page bounds the number of names; the backend may return fewer.
   *
   * @throws StoreError `INVALID_ARGUMENT` for a cursor that is not this driver's.
   */
  listIndexes(request: IndexesRequest): Promise<IndexListing>;
}

interface WithSignal {
  readonly signal: AbortSignal | undefined;
}

/** The place of an entry. */
export interface EntryPlace {
  readonly index: string;
  readonly key: string;
  /** Several entries may have one key. */
  readonly id: string;
}

/** Digests of places, for the keys of databases that limit their keys. */
export const EntryPlace = /* @__PURE__ */ Object.freeze({
  /**
   * The place of an entry as 87 ASCII characters, for the key of a database that limits its keys: two SHA-256 in Base64url, of the index
   * and the key, and of the id. Those of one key begin with its `keyDigest` and a dot.
   */
  digest(place: EntryPlace): string {
    return `${EntryPlace.keyDigest(place)}.${sha256(place.id)}`;
  },

  /** The beginning of the `digest` of each entry of a key. */
  keyDigest({ index, key }: Pick<EntryPlace, "index" | "key">): string {
    return sha256(`${escaped(index)}\x01${escaped(key)}`);
  },
});

/** The content of an entry. */
export interface EntryFields {
  /** An integer of 0 or more. */
  readonly version: number;
  /** Any finite number; never -0. */
  readonly order: number;
  /** A text of the codec, opaque and never empty, of at most `capabilities.index.maxValueBytes`. */
  readonly value: string;
  /** In milliseconds since 1970; absent: never. */
  readonly expiresAt?: number | undefined;
}

/** An entry to write. */
export interface EntryPut extends EntryPlace, EntryFields, WithSignal {
  /**
   * Of one dimension and of length 1, each number rounded to 32 bits. An insert without them inserts none. An update without them keeps
   * those that the entry has; `[]` removes them. Only for a driver that has `nearestEntries`.
   */
  readonly vectors?: readonly (readonly number[])[] | undefined;
}

/** An entry as a driver returns it. */
export interface StoredEntry extends EntryFields {
  readonly key: string;
  readonly id: string;
}

/** A search in a part of an index. */
export interface NearestRequest extends WithSignal {
  readonly index: string;
  /** Only entries whose {@link SortKey} is above `after` and below `before`. */
  readonly after: string;
  readonly before: string;
  /** Of length 1, each number rounded to 32 bits. */
  readonly vector: readonly number[];
  /** An integer from 1 to 100. */
  readonly limit: number;
  /** The number of nearer entries to leave out. */
  readonly offset: number;
}

/** An entry that a search found. */
export interface ScoredEntry extends StoredEntry {
  /** The cosine of the two vectors: from -1 to 1, where 1 is the same direction. */
  readonly score: number;
}

/** One page of an index. */
export interface EntriesRequest extends WithSignal {
  readonly index: string;
  /** `"up"`: by {@link SortKey}; `"down"`: exactly reversed. */
  readonly direction: "up" | "down";
  /** An integer from 1 to 100. */
  readonly limit: number;
  /** The `next` of the page before; undefined for the first page. */
  readonly after: string | undefined;
}

/** A page: at most the requested number of entries, and about 1 MB. */
export interface EntryPage {
  readonly entries: readonly StoredEntry[];
  /**
   * The {@link SortKey} after which the next page begins; absent on the last page. A page that is not the last may have fewer entries
   * than requested, also none.
   */
  readonly next?: string | undefined;
}

/** What backends make pages of. */
export const EntryPage = /* @__PURE__ */ Object.freeze({
  /** The entries that have not expired, for backends that do not leave out the others themselves. */
  alive(entries: readonly StoredEntry[]): StoredEntry[] {
    const now = Date.now();
    return entries.filter((entry) => !isExpiredEntry(entry, now));
  },

  /** The page of the entries that a backend found after `limit + 1` were requested, in their order. */
  of(found: readonly StoredEntry[], limit: number): EntryPage {
    const entries = found.slice(0, limit);
    const last = entries.at(-1);
    return { entries, ...(found.length > limit && last && { next: SortKey.of(last) }) };
  },
});

/** A page of the names of indexes. */
export interface IndexesRequest extends WithSignal {
  /** Only names that begin with this prefix; `""` for all. */
  readonly prefix: string;
  /** An integer from 1 to 1,000. */
  readonly limit: number;
  /** As in a listing of threads: a string of the driver's own; untrusted. */
  readonly cursor: string | undefined;
}

/** A page of the names of indexes. */
export interface IndexListing {
  readonly names: readonly string[];
  /** Absent on the last page. */
  readonly cursor?: string | undefined;
}

/** Listings for backends that list names in an order of their own. */
export const IndexListing = /* @__PURE__ */ Object.freeze({
  /**
   * The page of the names that a backend found after `limit + 1` were requested, in an order of its own. Its cursor is the last name.
   *
   * @param isMore whether there may be further names. Default: if there are more than `limit`.
   */
  of(found: readonly string[], limit: number, isMore = found.length > limit): IndexListing {
    const names = found.slice(0, limit);
    const last = names.at(-1);
    return {
      names,
      ...(isMore && last !== undefined && { cursor: IdCursor.format(last) }),
    };
  },

  /**
   * The name after which a page begins, of a cursor of `of`; undefined for the first page.
   *
   * @throws StoreError `INVALID_ARGUMENT` for another cursor.
   */
  nameOfCursor(request: IndexesRequest): string | undefined {
    return IdCursor.parse("listIndexes", request);
  },
});

const SIGN = 1n << 63n;
const ALL_BITS = (1n << 64n) - 1n;
/** The characters that {@link SortKey} escapes: the end of a key, the escape, and what some databases refuse in texts. */
const escapes = ["\x02", "\x01", "\0"];

/** Makes and reads the text by which the entries of an index are sorted. */
export const SortKey = /* @__PURE__ */ Object.freeze({
  /**
   * The sort key of an entry: its place in its index, as a text that backends compare by its UTF-8 bytes: by `order`, then by the bytes of the key, then
   * by those of the id. It contains no zero byte.
   *
   * 16 hexadecimal digits of the order: its IEEE 754 bits with the sign flipped, or all bits if it is negative. Then the key, a byte 1, and
   * the id; bytes 0, 1 and 2 in them are written as 2 and 3, 4 or 5.
   */
  of({ order, key, id }: Pick<StoredEntry, "order" | "key" | "id">): string {
    return `${orderDigits(order)}${escaped(key)}\x01${escaped(id)}`;
  },

  /** Below, and above, every sort key. */
  ENDS: Object.freeze({ up: "0", down: "g" }),

  /** The order of an entry, of its sort key. */
  orderOf(sort: string): number {
    const bits = BigInt(`0x${sort.slice(0, 16)}`);
    const view = new DataView(new ArrayBuffer(8));
    view.setBigUint64(0, bits & SIGN ? bits ^ SIGN : bits ^ ALL_BITS);
    return view.getFloat64(0);
  },

  /** The key of an entry, of its sort key. */
  keyOf(sort: string): string {
    const [key = ""] = sort.slice(16).split("\x01", 1);
    const [first = "", ...rest] = key.split("\x02");
    return first + rest.map((part) => String.fromCharCode(part.charCodeAt(0) - 3) + part.slice(1)).join("");
  },
});

/** Compares two well-formed texts by their UTF-8 bytes, for sorting. */
export function compareBytes(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at++) {
    const [left, right] = [one.charCodeAt(at), other.charCodeAt(at)];
    if (left !== right) return bytesRank(left) - bytesRank(right);
  }
  return one.length - other.length;
}

/** In UTF-8, characters of two code units come last. */
function bytesRank(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}

function orderDigits(order: number): string {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, order);
  const bits = view.getBigUint64(0);
  return (bits & SIGN ? bits ^ ALL_BITS : bits | SIGN).toString(16).padStart(16, "0");
}

function escaped(text: string): string {
  return escapes.reduce(
    (made, character) =>
      made.replaceAll(character, `\x02${String.fromCharCode(character.charCodeAt(0) + 3)}`),
    text,
  );
}

/** Whether an entry has expired. */
export function isExpiredEntry({ expiresAt }: Pick<EntryFields, "expiresAt">, now: number): boolean {
  return expiresAt != null && expiresAt <= now;
}
