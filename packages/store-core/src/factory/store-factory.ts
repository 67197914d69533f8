import type { Codec } from "../codec/codec.ts";
import type { Cursor, Revision } from "../driver/revision.ts";
import type { StoreError } from "../errors.ts";
import type { ChatMessage, MessageTraits } from "../message/message.ts";
import type { StoreSettings } from "../store/state.ts";
import type { MessageStore, WriteOptions } from "../store/store.ts";
import type { Trimming } from "../trimming/trimming.ts";
import type { ListThreadsOptions, ThreadInfo, ThreadList } from "./list-threads.ts";
import type { IndexList, ListIndexesOptions, StoreIndex } from "./store-index.ts";

/** The options of {@link StoreFactory.deleteThread}. */
type DeleteThreadOptions = Pick<WriteOptions, "expectedRevision" | "signal">;

/** The options of every backend's factory. */
export interface StoreOptions<M = ChatMessage> {
  /** The maximum number of messages in a thread after any write: a positive integer. Default: unlimited. */
  maxMessages?: number;
  /** How a thread is trimmed to `maxMessages`. Default: `"turns"`. */
  trimming?: Trimming;
  /**
   * The time from a thread's last write to its expiry, in milliseconds: a positive integer, at most 36,500 days. Default:
   * never.
   */
  ttlMs?: number;
  /**
   * Converts messages and metadata to text and back: {@link jsonCodec} (the default), `gzipCodec`, `aesGcmCodec`, or your
   * own.
   */
  codec?: Codec;
  /**
   * Tells the library a message's role and tool calls. Default: {@link chatMessageTraits}, for {@link ChatMessage}.
   * Required for other message types.
   */
  traits?: MessageTraits<M>;
  /** Called with the `CORRUPT` error of each unreadable record; reads then skip the record. Default: reads throw the error. */
  onCorruptRecord?: (error: StoreError) => void;
  /**
   * Whether calls create what is missing in the backend (schema, tables, indexes), as {@link StoreFactory.setup} does. What was created is
   * written once, in a warning of the process. Costs no request where a request finds all that it needs; on MongoDB, whose requests
   * do not notice a missing index, one setup before the first call. Not part of a serialised state. Default: true in `openStores`, except
   * for DynamoDB, whose tables cost money; false in a `create…Stores`, except on SQLite. No effect on Redis and in memory.
   */
  setup?: boolean;
}

/**
 * Makes `traits` required if `M` is not a {@link ChatMessage}. An adapter's factory intersects its options with it.
 *
 * @example
 * export function createMyStores<M = ChatMessage>(options: MyOptions<M> & TraitsOption<M>): StoreFactory<M>;
 */
export type TraitsOption<M> = [M] extends [ChatMessage] ? unknown : { readonly traits: MessageTraits<M> };

/** The options of {@link StoreFactory.copyThread}. */
export interface CopyThreadOptions<M> {
  /**
   * Copies no message after this cursor: the `newer` of a page that ends with the last message to copy. Default: all
   * messages.
   */
  upTo?: Cursor;
  /** The factory that receives the copy. Default: this factory. */
  target?: StoreFactory<M>;
  /** The time until the copy expires, in milliseconds: a positive integer. Default: the target's `ttlMs`. */
  ttlMs?: number;
  /** Called after each commit. `total` is the number of messages to copy. */
  onProgress?: (progress: { readonly copied: number; readonly total: number }) => void;
  signal?: AbortSignal;
}

/** The result of {@link StoreFactory.copyThread}. */
export interface ThreadCopy {
  /** The number of messages that this call copied; 0 if an earlier call had copied all. */
  readonly copied: number;
  /** The target's revision; `null` if there was nothing to copy. */
  readonly revision: Revision | null;
}

/** Opens and manages all threads of one namespace of a backend, over one connection. */
export interface StoreFactory<M = ChatMessage> extends AsyncDisposable {
  /** The settings that the factory was given; absent if left out. Frozen. */
  readonly settings: Readonly<StoreSettings & { backend: string }>;
  /**
   * Returns the store of a thread, without I/O. If `threadId` is left out, a UUID v7 is generated. Thread ids have 1 to
   * 1,024 bytes.
   *
   * @param settings override the factory's settings for this store. They become part of its state; {@link restore} gives
   *   precedence to the factory's settings.
   */
  open(threadId?: string, settings?: StoreSettings): MessageStore<M>;
  /**
   * Returns the store of a serialised state, without I/O. The factory's settings take precedence over those of the state,
   * also over those that {@link open} was given. The state supplies the rest.
   *
   * @throws StoreError `INVALID_STATE`, also for null, undefined and `{}`.
   */
  restore(state: unknown): MessageStore<M>;
  /**
   * Returns a factory of the same threads, settings and connection for another message type, without I/O. Closing either
   * factory closes both.
   *
   * @throws StoreError `INVALID_ARGUMENT` if `traits` is not a {@link MessageTraits}.
   */
  withTraits<N>(traits: MessageTraits<N>): StoreFactory<N>;
  /**
   * Returns the size of a value as a thread's metadata, in bytes, encoded by the factory's codec. The maximum is 256 KiB.
   * Does no I/O.
   *
   * @throws StoreError `INVALID_ARGUMENT` for a value that cannot be stored, `TOO_LARGE` beyond a limit of the codec.
   */
  metadataSize(metadata: unknown): number;
  /**
   * Reads one page of the factory's threads, in no particular order. A thread that exists during the whole listing is on
   * at least one page, perhaps on two. Expired and deleted threads are on no page. An empty page may still have a cursor.
   *
   * @throws StoreError `INVALID_ARGUMENT` for a cursor of another backend's listing; `CORRUPT` for an unreadable thread.
   *   With `onCorruptRecord` the thread is reported there and listed without metadata instead.
   */
  listThreads(options?: ListThreadsOptions): Promise<ThreadList>;
  /** Iterates over the threads of all pages of {@link listThreads}. Reads each page when it is needed. */
  iterateThreads(options?: Omit<ListThreadsOptions, "cursor">): AsyncIterable<ThreadInfo>;
  /**
   * Returns an index of entries beside the threads, without I/O. Names have 1 to 1,024 bytes.
   *
   * @throws StoreError `UNSUPPORTED` if the driver has no index.
   */
  index(name: string): StoreIndex;
  /**
   * Reads one page of the names of the factory's indexes that have entries, in no particular order. A name that has entries during the
   * whole listing is on at least one page, perhaps on several.
   *
   * @throws StoreError `UNSUPPORTED` if the driver has no index.
   */
  listIndexes(options?: ListIndexesOptions): Promise<IndexList>;
  /**
   * Deletes a thread permanently, in one atomic step. When it returns, the backend has none of the thread's messages and
   * metadata, the revision is `null`, and the thread is no longer listed. The rest (its id, its operation ids) is removed
   * within the time that the backend's page states. A later write begins a new thread. Deleting a thread that does not
   * exist succeeds.
   *
   * @throws StoreError `CONFLICT` if the thread is not at `expectedRevision`.
   * @example
   * await stores.deleteThread("chat-1");
   */
  deleteThread(threadId: string, options?: DeleteThreadOptions): Promise<void>;
  /**
   * Calls `onHint` soon after a thread changed, by any process, until the watch is disposed or the factory is closed. Does not wait for
   * the backend, and does not keep the process running.
   *
   * A hint means that the thread may have changed, and has no data. It may come late, several times, or without a change, and a
   * change may have no hint. So also read at an interval, such as every 10 seconds.
   *
   * @param onHint is never called within a call of the stores. It must not throw.
   * @returns undefined if the backend has no hints: then read more often. The memory store has them, and `createPostgresStores` with `listen`.
   * @example
   * using watch = stores.watch("chat-1", () => void show());
   * const timer = setInterval(show, watch ? 10_000 : 1_000);
   */
  watch(threadId: string, onHint: () => void): Disposable | undefined;
  /**
   * Copies a thread: its messages and their times, the thread's times and the metadata. Uses one atomic commit if all
   * fits into one, otherwise several. Repeating a failed call resumes the copy without duplicates; repeating a completed
   * call does nothing. Concurrent identical calls produce one copy, and each succeeds. `maxMessages` is the target's, and
   * so is `ttlMs` unless given. The copy is the source as it was when the call began, without messages that are added later.
   *
   * @returns the number of messages that this call copied, and the target's revision; `null` if there was nothing to
   *   copy.
   * @throws StoreError `CONFLICT` if the target has content that this copy did not write, if the source was deleted, begun again,
   *   cleared, trimmed, or changed up to the last message to copy during a copy in several commits, or if the source is itself an
   *   unfinished copy; `INVALID_ARGUMENT` if `upTo` is not a cursor of the source in its current state.
   * @example
   * await stores.copyThread("chat-1", "chat-1-branch", { upTo: page.newer });
   */
  copyThread(from: string, to: string, options?: CopyThreadOptions<M>): Promise<ThreadCopy>;
  /**
   * Creates what the backend needs (tables, indexes) and checks that the stores can work. Call it when a server starts,
   * to fail early. Each call sends at least one request, if the backend takes requests, and writes no message. May run
   * repeatedly and concurrently in several processes. Retries for 5 seconds during an outage.
   *
   * @throws StoreError `UNAVAILABLE` if the backend does not respond, or if a login, a permission, a database or a table
   *   is refused or missing; the message says which. `UNSUPPORTED` for a server or tables that the adapter cannot use.
   * @example
   * const stores = await openStores(process.env.DATABASE_URL);
   * await stores.setup(); // fails here when the server, the login or a permission is wrong
   */
  setup(): Promise<void>;
  /**
   * The statements with which {@link setup} creates what is missing, for someone who runs them with another client. Sends no request.
   *
   * @throws StoreError `UNSUPPORTED` if the backend's setup is not made of statements.
   */
  setupScript(): Promise<string>;
  /** Releases what the factory opened. A client that was passed in stays open. Further calls have no effect. */
  close(): Promise<void>;
}
