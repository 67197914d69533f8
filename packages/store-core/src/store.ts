import type { ChatMessage } from "./message.ts";
import type { StoreState } from "./state.ts";

/**
 * Where a thread stands: an opaque string that changes with every commit and is never used again, not even after
 * `clear` or expiry. `null` stands for a thread that is not there (never written, or expired).
 */
export type Revision = string;

/** A place in a thread, opaque, good for `before` and `after` of {@link ReadOptions} in any process. */
export type Cursor = string;

/** What a commit does, all of it in one atomic step, in this order: drop, append, set the metadata, trim. */
export interface Change<M = ChatMessage> {
  /** How many messages to drop from the end, or all of them. Past the beginning drops what is there. Default 0. */
  drop?: number | "all";
  /** Messages to add at the end, in this order. Default none. */
  append?: readonly M[];
  /** The thread's new metadata, at most 256 KiB encoded; `null` removes it; left out keeps it. */
  metadata?: unknown;
}

/** What every write takes. */
export interface WriteOptions {
  /**
   * Names this write, 1 to 1,024 bytes. The same id with the same change again writes nothing and returns the first
   * outcome; with another change it is a `CONFLICT`. The newest 64 of a thread are remembered. Default: a new one.
   */
  operationId?: string;
  /** Write only if the thread is still at this revision, else `CONFLICT`. Default: write whatever the revision. */
  expectedRevision?: Revision | null;
  /**
   * When the write was made, in milliseconds since 1970: a whole number from 0 to 9,999,999,999,999. Order never depends on
   * it. For imports. Default: this process's clock.
   */
  createdAt?: number;
  /** Aborting rejects with `ABORTED` promptly; the write then happened as a whole or not at all. */
  signal?: AbortSignal;
}

/** What {@link MessageStore.expire} takes. */
export type ExpireOptions = Pick<WriteOptions, "expectedRevision" | "signal">;

/** What {@link MessageStore.read} takes. `before` and `after` exclude each other. */
export interface ReadOptions {
  /** At most so many entries: the newest ones, or with `after` the first ones. Default: all. */
  limit?: number;
  /** Only entries older than this cursor. */
  before?: Cursor;
  /** Only entries newer than this cursor. */
  after?: Cursor;
  signal?: AbortSignal;
}

/** One consistent look at a thread. */
export interface ThreadPage<M = ChatMessage> {
  /**
   * Oldest first. Sequence numbers rise along the thread; a dropped message's number may be given again. `createdAt` is when
   * the message was written, in milliseconds since 1970, by its writer's clock.
   */
  entries: { sequence: number; createdAt: number; message: M }[];
  /** The revision that all of the page belongs to. */
  revision: Revision | null;
  /** The thread's metadata at that revision; absent where none is set. */
  metadata?: unknown;
  /** How many messages the whole thread has. */
  count: number;
  /** When the thread's first commit was made, in milliseconds since 1970; absent for a thread that is not there. */
  createdAt?: number;
  /** When its newest commit was made; absent for a thread that is not there. */
  updatedAt?: number;
  /** When it expires; absent for one that never does. */
  expiresAt?: number;
  /** For `before`: what comes before this page. Absent where the thread begins. */
  older?: Cursor;
  /** For `after`: what comes after this page, now or later. Absent only for a thread without messages. */
  newer?: Cursor;
}

/**
 * One thread's history. Every method rejects with a {@link StoreError}: `CLOSED` after disposal, `UNAVAILABLE` when the
 * backend cannot be reached (never an empty history), `INVALID_ARGUMENT` before any I/O for arguments that can never work.
 *
 * A change that changes nothing (no messages, a drop of 0, no metadata) writes nothing, moves neither revision nor
 * expiry, and returns the current revision.
 */
export interface MessageStore<M = ChatMessage> extends AsyncDisposable {
  /** Which thread this is; moved only by `updateFromState`. */
  readonly threadId: string;
  /** Adds messages at the end, adjacent to each other, and returns the thread's new revision. */
  addMessages(messages: readonly M[], options?: WriteOptions): Promise<Revision | null>;
  /** The messages, oldest first; with `limit` the newest that many. An unknown thread is an empty list. */
  listMessages(options?: { limit?: number; signal?: AbortSignal }): Promise<M[]>;
  /** Plain JSON that `StoreFactory.restore` or `updateFromState` takes, in any process. No secrets, no messages (but the memory store's holds them). */
  serialize(): Promise<StoreState>;
  /** Moves this store to the state's thread. `null`, `undefined` and `{}` change nothing; a foreign state is `INVALID_STATE`. Never adds messages. */
  updateFromState(state: unknown): Promise<void>;
  /** Drops all messages and the metadata, gone from the backend when this returns. Operation ids are remembered. */
  clear(options?: WriteOptions): Promise<Revision | null>;
  /**
   * Takes the newest message off the thread and returns it, or undefined from an empty thread. A read, then a
   * compare-and-set drop, again when another writer came between. A newest message that cannot be read is `CORRUPT`,
   * whatever `onCorruptRecord` says.
   */
  popMessage(options?: { signal?: AbortSignal }): Promise<M | undefined>;
  /** Drops all messages and adds these, in one step. Metadata stays. */
  replaceMessages(messages: readonly M[], options?: WriteOptions): Promise<Revision | null>;
  /** The primitive under all of the above: one atomic change, compare-and-set when asked, exactly once when retried. */
  commit(change: Change<M>, options?: WriteOptions): Promise<Revision | null>;
  /**
   * Lets the thread expire so many milliseconds from now, or never (`null`), without a message. Returns the new revision;
   * `null`, and does nothing, for a thread that is not there. The next write sets the expiry anew, by the store's `ttlMs`.
   *
   * @example
   * const store = stores.open("chat-1");
   * await store.expire(7 * 24 * 60 * 60 * 1_000);
   */
  expire(ttlMs: number | null, options?: ExpireOptions): Promise<Revision | null>;
  /** One consistent look: entries, times, revision, metadata and cursors both ways. */
  read(options?: ReadOptions): Promise<ThreadPage<M>>;
}
