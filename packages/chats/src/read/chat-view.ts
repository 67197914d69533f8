import { parseMetadata } from "@scrollback/collections";
import {
  type Cursor,
  type MessageStore,
  type Revision,
  StoreError,
  type StoreFactory,
} from "@scrollback/store-core";
import { entryOf, type StoredEntry } from "./entries.ts";
import type { Head } from "./head.ts";

/** The number of newest entries that are searched first. */
export const FIRST_LOOK = 64;

/** For the errors of a thread that is not a chat. */
const HEAD_OWNER = { package: "@scrollback/chats", kind: "chat", isListed: true };

/** Thrown if a chat has changed since it was read. The write is then retried. */
export class OutdatedError extends Error {}

/** A chat whose content is known without a read. */
export interface KnownChat<M> {
  readonly head?: Head | undefined;
  readonly revision: Revision | null;
  readonly entries: readonly StoredEntry<M>[];
  readonly older?: Cursor | undefined;
}

/** Options of a read of a chat. */
export interface LookOptions {
  /** Default: all entries. */
  readonly limit?: number | undefined;
  readonly before?: Cursor | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A chat's thread at one revision: its head, and its newest entries. */
export class ChatView<M> {
  readonly revision: Revision | null;
  /** Undefined if the chat does not exist. */
  readonly head: Head | undefined;
  /** The number of messages in the thread. */
  readonly count: number;
  readonly expiresAt: number | undefined;
  /** The newest entries, oldest first. */
  entries: readonly StoredEntry<M>[];
  older: Cursor | undefined;
  /** The store of the thread. */
  readonly store: MessageStore;
  readonly #signal: AbortSignal | undefined;
  /** Whether the store skipped an entry that it cannot read. */
  #isIncomplete: boolean;

  private constructor(store: MessageStore, page: Page<M>, signal?: AbortSignal | undefined) {
    this.store = store;
    this.#signal = signal;
    this.revision = page.revision;
    this.head = page.head;
    this.count = page.count;
    this.expiresAt = page.expiresAt;
    this.entries = page.stored;
    this.older = page.older;
    this.#isIncomplete = page.isIncomplete;
  }

  /** Reads a chat with its newest `limit` entries; without `limit`, with all entries. */
  static async read<M>(
    stores: StoreFactory,
    threadId: string,
    { limit, before, signal }: LookOptions,
  ): Promise<ChatView<M>> {
    const store = stores.open(threadId);
    return new ChatView<M>(store, await readPage<M>(store, { limit, before, signal }), signal);
  }

  /** Returns a chat without reading it: one that is assumed not to exist, or the state after a commit. */
  static known<M>(
    stores: StoreFactory,
    threadId: string,
    { head, revision, entries, older }: KnownChat<M>,
  ): ChatView<M> {
    const count = head?.messageCount ?? 0;
    const isIncomplete = older === undefined && entries.length < count;
    const page = { head, revision, stored: entries, count, isIncomplete, older };
    return new ChatView<M>(stores.open(threadId), page);
  }

  get isWhole(): boolean {
    return this.older === undefined;
  }

  /** Reads older entries: as many as are loaded already, at least 64. */
  async loadOlder(): Promise<void> {
    const { older: before } = this;
    if (before === undefined) return;
    const limit = Math.max(FIRST_LOOK, this.entries.length);
    const page = await readPage<M>(this.store, { limit, before, signal: this.#signal });
    if (page.revision !== this.revision) throw new OutdatedError("the chat has changed while it was read");
    this.entries = [...page.stored, ...this.entries];
    this.older = page.older;
    this.#isIncomplete ||= page.isIncomplete || (this.isWhole && this.entries.length < this.count);
  }

  /** Reads older entries until `find` matches one, or all are read. Returns its index in `entries`, or -1. */
  async findIndex(find: (entry: StoredEntry<M>) => boolean): Promise<number> {
    for (;;) {
      const index = this.entries.findLastIndex(find);
      if (index >= 0 || this.isWhole) return index;
      await this.loadOlder();
    }
  }

  /** @throws StoreError `CORRUPT` if entries cannot be counted from the end because one of them is unreadable. */
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

async function readPage<M>(store: MessageStore, { limit, before, signal }: LookOptions) {
  const { threadId } = store;
  const page = await store.read({
    ...(limit !== undefined && { limit }),
    ...(before !== undefined && { before }),
    ...(signal && { signal }),
  });
  const stored = page.entries.map((entry) => entryOf<M>(threadId, entry));
  const isWholePage = page.older === undefined && before === undefined;
  const isIncomplete = isWholePage
    ? stored.length < page.count
    : stored.length < (limit ?? 0) && page.older !== undefined;
  const head = page.revision === null ? undefined : parseMetadata<Head>(threadId, page.metadata, HEAD_OWNER);
  // Otherwise a new chat of this id would begin with these messages.
  if (!head && page.count > 0)
    throw new StoreError(
      "CORRUPT",
      `the chat of thread "${threadId}" has lost its head (the metadata); delete it`,
      { threadId },
    );
  return { ...page, head, stored, isIncomplete };
}
