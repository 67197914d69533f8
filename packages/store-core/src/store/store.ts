import type { Cursor, Revision } from "../driver/revision.ts";
import type { ChatMessage } from "../message/message.ts";
import type { StoreState } from "./state.ts";

/** The contents of a commit. One atomic step drops, appends, sets the metadata and trims, in this order. */
export interface Change<M = ChatMessage> {
  /** The number of messages to drop from the end, or `"all"`. A number beyond the thread's length drops all. Default: 0. */
  drop?: number | "all";
  /** Messages to add at the end, in this order. Default: none. */
  append?: readonly M[];
  /** The thread's new metadata, at most 256 KiB encoded. `null` removes the metadata; `undefined` keeps it. */
  metadata?: unknown;
}

/** The options of every write. */
export interface WriteOptions {
  /**
   * Identifies this write; 1 to 1,024 bytes. A second write with the same id and the same change writes nothing and
   * returns the first outcome. With a different change it fails with `CONFLICT`. A thread remembers its newest 64 ids.
   * Default: a new id.
   */
  operationId?: string;
  /** Writes only if the thread is at this revision; otherwise fails with `CONFLICT`. Default: writes at any revision. */
  expectedRevision?: Revision | null;
  /**
   * The time of the write in milliseconds since 1970: an integer from 0 to 9,999,999,999,999. Intended for imports. The
   * order of messages never depends on it. Default: the time of this process's clock.
   */
  createdAt?: number;
  /** When aborted, the call rejects with `ABORTED` promptly. The write then happened as a whole or not at all. */
  signal?: AbortSignal;
}

/** The options of {@link MessageStore.expire}. */
export type ExpireOptions = Pick<WriteOptions, "expectedRevision" | "signal">;

/** The options of {@link MessageStore.read}. `before` and `after` are mutually exclusive. */
export interface ReadOptions {
  /** The maximum number of entries: the newest ones, or with `after` the first ones. Default: unlimited. */
  limit?: number;
  /** Only entries older than this cursor. */
  before?: Cursor;
  /** Only entries newer than this cursor. */
  after?: Cursor;
  signal?: AbortSignal;
}

/** A part of a thread at one revision. */
export interface ThreadPage<M = ChatMessage> {
  /**
   * Oldest first. Sequence numbers increase along the thread; the number of a dropped message may be reused. `createdAt`
   * is the time of the write in milliseconds since 1970, by the writer's clock.
   */
  entries: { sequence: number; createdAt: number; message: M }[];
  /** The revision that the whole page was read at. */
  revision: Revision | null;
  /** The thread's metadata at that revision; absent if none is set. */
  metadata?: unknown;
  /** The number of messages in the whole thread. */
  count: number;
  /** The time of the thread's first commit, in milliseconds since 1970; absent for a thread that does not exist. */
  createdAt?: number;
  /** The time of the thread's newest commit; absent for a thread that does not exist. */
  updatedAt?: number;
  /** The time at which the thread expires; absent for a thread that never expires. */
  expiresAt?: number;
  /** A value for `before` that reads what precedes this page. Absent at the beginning of the thread. */
  older?: Cursor;
  /** A value for `after` that reads what follows this page, now or later. Absent only for a thread without messages. */
  newer?: Cursor;
}

/**
 * The history of one thread. Every method rejects with a {@link StoreError}: `CLOSED` after disposal, `UNAVAILABLE` when
 * the backend cannot be reached (never an empty history), `INVALID_ARGUMENT` before any I/O for an invalid argument.
 *
 * An empty change (no messages, a drop of 0, no metadata) writes nothing, changes neither revision nor expiry, and
 * returns the current revision.
 */
export interface MessageStore<M = ChatMessage> extends AsyncDisposable {
  /** The id of the thread. Only `updateFromState` changes it. */
  readonly threadId: string;
  /** Adds messages at the end, adjacent to each other. Returns the thread's new revision. */
  addMessages(messages: readonly M[], options?: WriteOptions): Promise<Revision | null>;
  /**
   * Returns the messages, oldest first; with `limit` only the newest `limit` messages. An unknown thread yields an empty
   * list.
   */
  listMessages(options?: { limit?: number; signal?: AbortSignal }): Promise<M[]>;
  /**
   * Returns plain JSON for `StoreFactory.restore` or `updateFromState` in any process. It contains no secrets, and no
   * messages except for a memory store.
   */
  serialize(): Promise<StoreState>;
  /**
   * Moves this store to the state's thread and never adds messages. `null`, `undefined` and `{}` change nothing. Any
   * other value that is not a state of this backend fails with `INVALID_STATE`.
   */
  updateFromState(state: unknown): Promise<void>;
  /** Removes all messages and the metadata from the backend before it returns. Operation ids stay remembered. */
  clear(options?: WriteOptions): Promise<Revision | null>;
  /**
   * Removes the newest message and returns it; returns undefined if the thread is empty. Reads, then drops with
   * compare-and-set, and retries when another writer committed in between. Fails with `CORRUPT` if the newest message
   * cannot be read, even with `onCorruptRecord`.
   */
  popMessage(options?: { signal?: AbortSignal }): Promise<M | undefined>;
  /** Drops all messages and adds `messages`, in one atomic step. Keeps the metadata. */
  replaceMessages(messages: readonly M[], options?: WriteOptions): Promise<Revision | null>;
  /**
   * Applies one atomic change. All writes above use it. Compare-and-set with `expectedRevision`; applied exactly once when
   * retried.
   */
  commit(change: Change<M>, options?: WriteOptions): Promise<Revision | null>;
  /**
   * Sets the thread to expire `ttlMs` milliseconds from now, or never (`null`), without adding a message. Returns the new
   * revision. Does nothing and returns `null` for a thread that does not exist. The next write sets the expiry again,
   * from the store's own `ttlMs`.
   *
   * @example
   * const store = stores.open("chat-1");
   * await store.expire(7 * 24 * 60 * 60 * 1_000);
   */
  expire(ttlMs: number | null, options?: ExpireOptions): Promise<Revision | null>;
  /** Reads entries, times, revision, metadata and the cursors in both directions, all at one revision. */
  read(options?: ReadOptions): Promise<ThreadPage<M>>;
}
