import { type Key, MarkedDirectories, Records } from "@scrollback/collections";
import {
  type Check,
  chatMessageTraits,
  checkOptions,
  hasMethods,
  invalid,
  isFunction,
  isOneOf,
  StoreError,
  type StoreFactory,
} from "@scrollback/store-core";
import { checkKey, groupOf, ROOT, threads, VALUES } from "./keys.ts";
import { type CachedHead, listedAs, readHead, readValue, writeValue } from "./value.ts";

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
  /** Called with errors of background work: notes of lists, which are retried. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const checks: Record<keyof ScrollbackStorageOptions, Check> = {
  stores: hasMethods("withTraits"),
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
  /** Names and deletes the threads of values. */
  readonly #threads: Records;
  readonly #directories: MarkedDirectories<null>;
  readonly #rejectsStale: boolean;
  /** In the order of their writes, the newest last. With `staleWriter: "reject"` all keys that were read or written. */
  readonly #cache = new Map<string, CachedHead>();

  /** Does no I/O. @throws StoreError `INVALID_ARGUMENT` for an invalid option, and for stores that trim or expire. */
  constructor(options: ScrollbackStorageOptions) {
    checkOptions("ScrollbackStorage", options ?? null, checks);
    const { stores, staleWriter, onError } = options;
    if (stores === undefined) invalid("ScrollbackStorage: stores must be a store factory");
    if (stores.settings?.maxMessages !== undefined)
      invalid(
        "ScrollbackStorage: stores must not have maxMessages, which would delete entries; give a factory without it",
      );
    if (stores.settings?.ttlMs !== undefined)
      invalid("ScrollbackStorage: stores with ttlMs lose parts of lists; give a factory without it");
    this.#directories = new MarkedDirectories({
      stores,
      leafThread: threads.leaf,
      ...(onError && { onError }),
    });
    this.#rejectsStale = staleWriter === "reject";
    this.#threads = new Records({ stores, prefix: VALUES });
    this.#stores = stores.withTraits(chatMessageTraits);
  }

  /**
   * Stores or replaces the bytes of a key, up to 45 MiB, in one commit.
   *
   * @throws StoreError `CONFLICT` with `staleWriter: "reject"`, see there; nothing is written then.
   */
  async write(key: string, data: Uint8Array): Promise<void> {
    checkKey("write", key);
    if (!(data instanceof Uint8Array)) invalid("write: data must be a Uint8Array");
    const cached = this.#cache.get(key);
    const isGuarded = this.#rejectsStale && cached !== undefined;
    // The cache stays empty until the outcome of the write is known. A guarded write that fails stays guarded.
    if (!isGuarded) this.#cache.delete(key);
    const group = groupOf(key);
    const written = await writeValue(
      {
        ...{ key, cached, isGuarded, store: this.#open(key) },
        ...{ directories: this.#directories, directory: threads.keys(group) },
        sizeOf: (value) => this.#stores.metadataSize(value),
        announce: async () => {
          if (group !== ROOT)
            await this.#directories.note(threads.groups, [group], { order: 0, was: 0, value: null });
        },
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
  }

  /** Returns the bytes of a key, or null. */
  async read(key: string): Promise<Uint8Array | null> {
    checkKey("read", key);
    const { data, head } = await readValue(this.#open(key));
    if (this.#rejectsStale) this.#cache.set(key, head);
    return data;
  }

  /** Deletes a key with its bytes. Does nothing for a missing key. */
  async delete(key: string): Promise<void> {
    checkKey("delete", key);
    this.#cache.delete(key);
    const { head } = await readHead(this.#open(key));
    if (!head) return;
    const group = groupOf(key);
    const directory = threads.keys(group);
    const member = { key: [key], incarnation: head.incarnation, order: 0 };
    await this.#directories.remove(directory, member, () => this.#threads.delete([key]));
    // A key that is created meanwhile notes its group again.
    if (group !== ROOT && (await this.#directories.removeDirectory(directory)))
      await this.#directories.purge(threads.groups, { key: [group], order: 0 });
  }

  /** Returns the keys with a prefix, sorted; all keys for an empty prefix. */
  async list(prefix: string): Promise<string[]> {
    if (prefix !== "") checkKey("list", prefix);
    const group = groupOf(prefix);
    const groups = group === ROOT ? [ROOT, ...(await this.#groups(prefix))] : [group];
    const keys: string[] = [];
    for (const one of groups) {
      const read = async ([key = ""]: Key) => {
        const { head } = await readHead(this.#open(key));
        return head && listedAs(head);
      };
      for (const key of await this.#members(threads.keys(one), read))
        if (key.startsWith(prefix)) keys.push(key);
    }
    return keys.sort();
  }

  /** Returns when all data of the lists is written. Call it before you close the stores. */
  async flush(): Promise<void> {
    await this.#directories.flush();
  }

  /** The same as {@link ScrollbackStorage.flush}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
  }

  #open(key: string) {
    return this.#stores.open(this.#threads.threadId([key]));
  }

  async #groups(prefix: string): Promise<string[]> {
    const groups = await this.#members(threads.groups, async () => undefined);
    return groups.filter((group) => group.startsWith(prefix));
  }

  async #members(
    directory: string,
    read: Parameters<MarkedDirectories<null>["page"]>[1]["read"],
  ): Promise<string[]> {
    const members: string[] = [];
    let pageToken: string | undefined;
    do {
      const page = await this.#directories.page(directory, { limit: PAGE, pageToken, read });
      members.push(...page.entries.map(({ key: [member = ""] }) => member));
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
    return members;
  }
}

function staleError(key: string, cause: StoreError): StoreError {
  const problem = "was written by another storage since this one read it; read it again and repeat the turn";
  return new StoreError("CONFLICT", `write: key ${JSON.stringify(key)} ${problem}`, { cause });
}
