import {
  type ChatMessage,
  chatMessageTraits,
  jsonCodec,
  type MessageStore,
  type Revision,
  StoreError,
  type StoreFactory,
} from "@scrollback/store-core";
import { checkOptions, invalid, isId, isObject, isString } from "@scrollback/store-core/driver";
import { byteLength, checkValue, isSignal, isStoreFactory, sha256 } from "@scrollback/store-core/internal";
import { envelope, FORMAT_VERSION, nameOf, parseMetadata, valueOfEnvelope } from "./format.ts";
import type { Listed } from "./lists/listed.ts";

const MAX_THREAD_BYTES = 1_024;
const MAX_KEY_BYTES = 1_024;
/** The number of characters in one piece of a value that does not fit one message. A piece has at most 12 MiB encoded. */
const PIECE = 4 * 1_024 ** 2;

/** The key of a record: at least one string, together at most 1,024 bytes. */
export type Key = readonly string[];

/** Options of {@link Records}. */
export interface RecordsOptions {
  /**
   * A store factory of any backend and any message type, without `maxMessages`. With `ttlMs` a record expires that long
   * after its last `set`.
   */
  readonly stores: Pick<StoreFactory, "settings" | "withTraits">;
  /** The prefix of the records' thread ids. Records with different prefixes are separate. */
  readonly prefix: string;
}

/** A record's value, and its revision for {@link RecordWriteOptions.expectedRevision}. */
export interface RecordOf<T> {
  readonly value: T;
  readonly revision: Revision;
  /** See {@link RecordWriteOptions.listed}. */
  readonly listed?: Listed;
}

/** Options of a write. */
export interface RecordWriteOptions {
  /** Writes only if the record is at this revision, or does not exist for `null`. Otherwise `CONFLICT`. */
  readonly expectedRevision?: Revision | null;
  /** Repeating the same call is a no-op that returns the first revision; another value with the same id is `CONFLICT`. */
  readonly operationId?: string;
  /** Where {@link Lists} list the record, which is stored beside the value. Default: nowhere. */
  readonly listed?: Listed;
  readonly signal?: AbortSignal;
}

/** The metadata of a record's thread. */
interface Format {
  readonly version: typeof FORMAT_VERSION;
  /** The number of messages that hold the value; absent if one message is the value. */
  readonly pieces?: number;
  readonly listed?: Listed;
}

const readChecks = { signal: isSignal };
const deleteChecks = { ...readChecks, expectedRevision: isString };
const writeChecks = {
  ...readChecks,
  expectedRevision: (value: unknown) => (value === null ? undefined : isString(value)),
  operationId: isId,
  listed: isObject,
};

/**
 * Values by key, each read in one request and written by compare-and-set in one. A value can be anything that a message can
 * carry, up to the size limit of a commit (64 MiB encoded). A value larger than a message is stored in pieces.
 *
 * @example
 * const records = new Records<{ step: number }>({ stores, prefix: "jobs" });
 * const found = await records.get(["nightly"]);
 * await records.set(["nightly"], { step: 1 }, { expectedRevision: found?.revision ?? null });
 */
export class Records<T = unknown> {
  readonly #stores: StoreFactory;
  readonly #prefix: string;

  /** Does no I/O. @throws StoreError `INVALID_ARGUMENT` for an invalid option, and for stores with `maxMessages`. */
  constructor(options: RecordsOptions) {
    const checks = { stores: isStoreFactory("entries"), prefix: isId };
    checkOptions("Records", options, checks, ["stores", "prefix"]);
    const { stores, prefix } = options;
    if (byteLength(prefix) > MAX_THREAD_BYTES / 2) invalid("Records: prefix must be at most 512 bytes");
    this.#prefix = prefix;
    this.#stores = stores.withTraits(chatMessageTraits);
  }

  /** Returns the thread id of a record, for layers that delete or copy it. */
  threadId(key: Key): string {
    checkKey("threadId", key);
    const threadId = [this.#prefix, ...key.map(nameOf)].join(":");
    if (byteLength(threadId) <= MAX_THREAD_BYTES) return threadId;
    // An escaped or hashed name never begins with `##`.
    return `${this.#prefix}:##${sha256(JSON.stringify(key))}`;
  }

  /** Returns a record, or undefined if there is none. */
  async get(key: Key, options: { readonly signal?: AbortSignal } = {}): Promise<RecordOf<T> | undefined> {
    checkKey("get", key);
    checkOptions("get", options, readChecks);
    const store = this.#stores.open(this.threadId(key));
    const { signal } = options;
    const { entries, revision, metadata } = await store.read(signal ? { signal } : {});
    const format = parseMetadata<Format>(store.threadId, metadata);
    const [first] = entries;
    if (revision === null || format === undefined || !first) return undefined;
    const place = { revision, ...(format.listed && { listed: format.listed }) };
    if (format.pieces === undefined) return { value: valueOfEnvelope<T>(first.message), ...place };
    const pieces = entries.map(({ message }) => valueOfEnvelope<string>(message));
    if (pieces.length !== format.pieces)
      throw new StoreError(
        "CORRUPT",
        `get: record "${store.threadId}" is incomplete: it has ${pieces.length} of ${format.pieces} pieces`,
      );
    return { value: decode<T>(store.threadId, pieces.join("")), ...place };
  }

  /**
   * Sets a record, unconditionally or by compare-and-set.
   *
   * @returns the record's new revision.
   * @throws StoreError `CONFLICT` when the record is not at `expectedRevision`, `TOO_LARGE`, `INVALID_ARGUMENT` for a value
   *   that cannot be stored.
   */
  async set(key: Key, value: T, options: RecordWriteOptions = {}): Promise<Revision> {
    checkKey("set", key);
    checkOptions("set", options, writeChecks);
    const store = this.#stores.open(this.threadId(key));
    const { listed, ...write } = options;
    const format: Format = { version: FORMAT_VERSION, ...(listed && { listed }) };
    try {
      return await replace(store, [envelope("user", value)], format, write);
    } catch (error) {
      // The store rejects it before any I/O.
      if (!StoreError.is(error, "TOO_LARGE")) throw error;
    }
    const pieces = piecesOf(jsonCodec.encode(value));
    const messages = pieces.map((piece) => envelope("user", piece));
    return await replace(store, messages, { ...format, pieces: pieces.length }, write);
  }

  /** Deletes a record. A missing record is not an error, except with `expectedRevision`: then it is `CONFLICT`. */
  async delete(key: Key, options: { readonly expectedRevision?: Revision } = {}): Promise<void> {
    checkKey("delete", key);
    checkOptions("delete", options, deleteChecks);
    const { expectedRevision } = options;
    await this.#stores.deleteThread(
      this.threadId(key),
      expectedRevision === undefined ? {} : { expectedRevision },
    );
  }
}

async function replace(
  store: MessageStore,
  append: ChatMessage[],
  metadata: Format,
  options: Omit<RecordWriteOptions, "listed">,
): Promise<Revision> {
  return String(await store.commit({ drop: "all", append, metadata }, options));
}

function decode<T>(threadId: string, text: string): T {
  try {
    return jsonCodec.decode(text) as T;
  } catch (cause) {
    throw new StoreError("CORRUPT", `get: record "${threadId}" cannot be decoded from its pieces`, { cause });
  }
}

/** Splits text between characters, never inside a surrogate pair. */
function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  for (let start = 0; start < text.length; ) {
    let end = Math.min(text.length, start + PIECE);
    if (end < text.length && /[\uD800-\uDBFF]/.test(text.charAt(end - 1))) end -= 1;
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}

/** @throws StoreError `INVALID_ARGUMENT`. */
function checkKey(method: string, key: unknown): asserts key is Key {
  if (!Array.isArray(key) || key.length === 0)
    invalid(`${method}: key must be an array of at least one string`);
  let bytes = 0;
  for (const part of key) {
    checkValue(method, "each part of key", isId, part);
    bytes += byteLength(part);
  }
  if (bytes > MAX_KEY_BYTES) invalid(`${method}: key must be at most ${MAX_KEY_BYTES} bytes of UTF-8`);
}
