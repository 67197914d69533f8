import { types } from "node:util";
import { Lists, type Member, Records } from "@scrollback/collections";
import { chatMessageTraits, StoreError, type StoreFactory } from "@scrollback/store-core";
import { type Check, checkOptions, invalid, isOneOf } from "@scrollback/store-core/driver";
import { isFunction, isStoreFactory, reporter } from "@scrollback/store-core/internal";
import { checkKey, groupOf, INDEXES, indexOf, mayHave, VALUES } from "./keys.ts";
import { type CachedHead, memberOf, readValue, snapshotOf, type ValueHead, writeValue } from "./value.ts";

/** The number of keys whose head is cached. */
const CACHE_SIZE = 1_000;
const PAGE = 1_000;

/** Options of {@link ScrollbackStorage}. */
export interface ScrollbackStorageOptions {
  /** A store factory of any backend and any message type, without `maxMessages` and `ttlMs`. The factory stays open. */
  readonly stores: Pick<StoreFactory, "settings" | "withTraits">;
  /**
   * What `write` does with a key that another storage has written since this one last read or wrote it: `"overwrite"` (default)
   * replaces it, so of two turns of a session at once the first one is lost; `"reject"` throws `CONFLICT`, and the turn fails. A storage
   * with `"reject"` is for one agent: make one for each turn, because turns that share a storage do not see each other.
   */
  readonly staleWriter?: "overwrite" | "reject" | undefined;
  /** Called with errors of background work: lists, which are told again. Default: a warning of the process. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const checks: Record<keyof ScrollbackStorageOptions, Check> = {
  stores: isStoreFactory("entries"),
  staleWriter: isOneOf("overwrite", "reject"),
  onError: isFunction,
};

/**
 * The `Storage` of Strands agents over any Scrollback store: bytes under string keys. Keys are opaque, at most 1,024 bytes.
 *
 * Rejects with the `StoreError`s of the stores.
 *
 * @example
 * await using storage = new ScrollbackStorage({ stores: await openStores("sqlite:chats.db") });
 * const agent = new Agent({ model, sessionManager: new SessionManager({ sessionId: "ada", storage }) });
 */
export class ScrollbackStorage implements AsyncDisposable {
  readonly #stores: StoreFactory;
  /** Names the threads of values. */
  readonly #threads: Records;
  readonly #lists: Lists<null, ValueHead>;
  readonly #onError: (error: unknown) => void;
  readonly #rejectsStale: boolean;
  /** In the order of their writes, the newest last. With `staleWriter: "reject"` all keys that were read or written. */
  readonly #cache = new Map<string, CachedHead>();

  /**
   * Does no I/O.
   *
   * @throws StoreError `INVALID_ARGUMENT` for an invalid option, and for stores that trim or expire; `UNSUPPORTED` for a backend
   *   without an index.
   */
  constructor(options: ScrollbackStorageOptions) {
    checkOptions("ScrollbackStorage", options, checks, ["stores"]);
    const { stores, staleWriter } = options;
    const onError = reporter(options.onError);
    if (stores.settings?.ttlMs !== undefined)
      invalid("ScrollbackStorage: stores with ttlMs lose parts of lists; give a factory without it");
    this.#rejectsStale = staleWriter === "reject";
    this.#stores = stores.withTraits(chatMessageTraits);
    this.#threads = new Records({ stores, prefix: VALUES });
    this.#lists = new Lists({ stores: this.#stores, onError });
    this.#onError = onError;
  }

  /**
   * Stores or replaces the bytes of a key, up to 45 MiB, in one commit.
   *
   * @throws StoreError `CONFLICT` with `staleWriter: "reject"`, see there; nothing is written then.
   */
  async write(key: string, data: Uint8Array): Promise<void> {
    checkKey("write", key);
    if (!types.isUint8Array(data)) invalid("write: data must be a Uint8Array");
    const cached = this.#cache.get(key);
    const isGuarded = this.#rejectsStale && cached !== undefined;
    // The cache stays empty until the outcome of the write is known. A guarded write that fails stays guarded.
    if (!isGuarded) this.#cache.delete(key);
    const store = this.#open(key);
    const member = memberOf(key, store);
    const written = await writeValue(
      {
        ...{ member, store, cached, isGuarded, lists: this.#lists },
        sizeOf: (value) => this.#stores.metadataSize(value),
      },
      // Copies a Buffer too, whose own `slice` shares its memory.
      new Uint8Array(data),
    ).catch((error) => {
      throw isGuarded && StoreError.is(error, "CONFLICT") ? staleError(key, error) : error;
    });
    this.#cache.delete(key);
    this.#cache.set(key, written);
    const [oldest] = this.#cache.keys();
    if (!this.#rejectsStale && this.#cache.size > CACHE_SIZE && oldest !== undefined)
      this.#cache.delete(oldest);
    const snapshot = snapshotOf(written);
    // The value is stored, so a list that could not be told is not an error of the write.
    if (snapshot?.version === 1) await this.#lists.tell(member, snapshot).catch(this.#onError);
    else if (snapshot) this.#lists.seen(member, snapshot);
  }

  /** Returns the bytes of a key, or null. */
  async read(key: string): Promise<Uint8Array | null> {
    checkKey("read", key);
    const { data, head } = await readValue(this.#open(key));
    const snapshot = snapshotOf(head);
    if (snapshot) this.#lists.seen(this.#member(key), snapshot);
    if (this.#rejectsStale) this.#cache.set(key, head);
    return data;
  }

  /** Deletes a key with its bytes. Does nothing for a missing key. */
  async delete(key: string): Promise<void> {
    checkKey("delete", key);
    this.#cache.delete(key);
    await this.#lists.remove(this.#member(key));
  }

  /** Returns the keys with a prefix, sorted; all keys for an empty prefix. */
  async list(prefix: string): Promise<string[]> {
    if (prefix !== "") checkKey("list", prefix);
    const indexes = groupOf(prefix) === undefined ? await this.#indexes(prefix) : [indexOf(prefix)];
    const keys: string[] = [];
    const memberOf = ({ key }: Pick<Member<null>, "key">) => this.#member(key);
    for (const index of indexes)
      for await (const { member } of this.#lists.iterate({ index, direction: "up", memberOf }))
        if (member.key.startsWith(prefix)) keys.push(member.key);
    return keys.sort();
  }

  /** Returns when the lists say all that this storage has written. Call it before you close the stores. */
  async flush(): Promise<void> {
    await this.#lists.flush();
  }

  /** The same as {@link ScrollbackStorage.flush}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
  }

  #open(key: string) {
    return this.#stores.open(this.#threads.threadId([key]));
  }

  #member(key: string): Member<null, ValueHead> {
    return memberOf(key, this.#open(key));
  }

  /** The indexes that can have keys with a prefix of less than two slashes. */
  async #indexes(prefix: string): Promise<Set<string>> {
    const indexes = new Set<string>();
    let cursor: string | undefined;
    do {
      const options = { prefix: INDEXES, limit: PAGE, ...(cursor !== undefined && { cursor }) };
      const page = await this.#stores.listIndexes(options);
      for (const name of page.names) if (mayHave(name, prefix)) indexes.add(name);
      cursor = page.cursor;
    } while (cursor !== undefined);
    return indexes;
  }
}

function staleError(key: string, cause: StoreError): StoreError {
  const problem = "was written by another storage since this one read it; read it again and repeat the turn";
  return new StoreError("CONFLICT", `write: key ${JSON.stringify(key)} ${problem}`, { cause });
}
