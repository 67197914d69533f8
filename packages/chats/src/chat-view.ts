import { type Cursor, type Revision, StoreError, type StoreFactory } from "@scrollback/store-core";
import { entryOf, type StoredEntry } from "./entries.ts";
import { type Head, parseHead } from "./head.ts";

/** The number of newest entries that are searched first. */
export const FIRST_LOOK = 64;

/** Thrown when a chat has changed since it was read: the write is tried again. */
export class OutdatedError extends Error {}

/** A chat that need not be read. */
export interface KnownChat<M> {
  readonly head?: Head | undefined;
  readonly revision: Revision | null;
  readonly entries: readonly StoredEntry<M>[];
  readonly older?: Cursor | undefined;
}

/** How a chat is read. */
export interface LookOptions {
  /** Default: all entries. */
  readonly limit?: number | undefined;
  readonly before?: Cursor | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A chat's thread at one revision: its head, and its newest entries. */
export class ChatView<M> {
  readonly revision: Revision | null;
  /** Undefined where there is no chat. */
  readonly head: Head | undefined;
  /** How many messages the thread has. */
  readonly count: number;
  readonly expiresAt: number | undefined;
  /** The newest ones, oldest first. */
  entries: readonly StoredEntry<M>[];
  older: Cursor | undefined;
  readonly #stores: StoreFactory;
  readonly #threadId: string;
  readonly #signal: AbortSignal | undefined;
  /** Whether the store passed over an entry that it cannot read. */
  #isIncomplete = false;

  private constructor(
    stores: StoreFactory,
    threadId: string,
    page: Page<M>,
    signal?: AbortSignal | undefined,
  ) {
    this.#stores = stores;
    this.#threadId = threadId;
    this.#signal = signal;
    this.revision = page.revision;
    this.head = page.head;
    this.count = page.count;
    this.expiresAt = page.expiresAt;
    this.entries = page.stored;
    this.older = page.older;
    this.#isIncomplete = page.isIncomplete;
  }

  /** Reads a chat, with the newest `limit` of its entries; all of them without. */
  static async read<M>(
    stores: StoreFactory,
    threadId: string,
    { limit, before, signal }: LookOptions,
  ): Promise<ChatView<M>> {
    return new ChatView<M>(
      stores,
      threadId,
      await readPage<M>(stores, threadId, { limit, before, signal }),
      signal,
    );
  }

  /** A chat as it is taken to be without reading it: not there, or as a commit has left it. */
  static known<M>(
    stores: StoreFactory,
    threadId: string,
    { head, revision, entries, older }: KnownChat<M>,
  ): ChatView<M> {
    const count = head?.messageCount ?? 0;
    const isIncomplete = older === undefined && entries.length < count;
    const page = { head, revision, stored: entries, count, isIncomplete, older };
    return new ChatView<M>(stores, threadId, page);
  }

  get isWhole(): boolean {
    return this.older === undefined;
  }

  /** Reads as many entries more as are there, at least 64. */
  async loadOlder(): Promise<void> {
    const { older: before } = this;
    if (before === undefined) return;
    const limit = Math.max(FIRST_LOOK, this.entries.length);
    const page = await readPage<M>(this.#stores, this.#threadId, { limit, before, signal: this.#signal });
    if (page.revision !== this.revision) throw new OutdatedError("the chat has changed while it was read");
    this.entries = [...page.stored, ...this.entries];
    this.older = page.older;
    this.#isIncomplete ||= page.isIncomplete || (this.isWhole && this.entries.length < this.count);
  }

  /** Reads on until `find` finds something, or all entries are read. Returns its index in `entries`, or -1. */
  async findIndex(find: (entry: StoredEntry<M>) => boolean): Promise<number> {
    for (;;) {
      const index = this.entries.findLastIndex(find);
      if (index >= 0 || this.isWhole) return index;
      await this.loadOlder();
    }
  }

  /** @throws StoreError `CORRUPT` where entries cannot be counted from the end, because one cannot be read. */
  assertCountable(method: string): void {
    if (!this.#isIncomplete) return;
    throw new StoreError(
      "CORRUPT",
      `${method}: a message of the chat cannot be read, so messages before the last one cannot be changed`,
    );
  }
}

interface Page<M> {
  readonly revision: Revision | null;
  readonly head: Head | undefined;
  readonly count: number;
  readonly stored: readonly StoredEntry<M>[];
  readonly isIncomplete: boolean;
  readonly expiresAt?: number;
  readonly older?: Cursor | undefined;
}

async function readPage<M>(stores: StoreFactory, threadId: string, { limit, before, signal }: LookOptions) {
  const page = await stores.open(threadId).read({
    ...(limit !== undefined && { limit }),
    ...(before !== undefined && { before }),
    ...(signal && { signal }),
  });
  const stored = page.entries.map(({ message }) => entryOf<M>(message));
  const isWholePage = page.older === undefined && before === undefined;
  const isIncomplete = isWholePage
    ? stored.length < page.count
    : stored.length < (limit ?? 0) && page.older !== undefined;
  const head = page.revision === null ? undefined : parseHead(threadId, page.metadata);
  return { ...page, head, stored, isIncomplete };
}
