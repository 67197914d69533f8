import type { Codec } from "./codec.ts";
import type { StoreError } from "./errors.ts";
import type { ListThreadsOptions, ThreadInfo, ThreadList } from "./list-threads.ts";
import type { ChatMessage, MessageTraits } from "./message.ts";
import type { StoreSettings } from "./state.ts";
import type { Cursor, MessageStore, Revision, WriteOptions } from "./store.ts";
import type { Trimming } from "./trimming.ts";

/** What {@link StoreFactory.deleteThread} takes. */
export type DeleteThreadOptions = Pick<WriteOptions, "expectedRevision" | "signal">;

/** The options that every backend's factory takes. */
export interface StoreOptions<M = ChatMessage> {
  /** After any write a thread holds at most so many messages. A whole number from 1 on. Default: unlimited. */
  maxMessages?: number;
  /** How a thread is cut to `maxMessages`. Default `"turns"`. */
  trimming?: Trimming;
  /** A thread expires so many milliseconds after its last write. A whole number from 1 to 36,500 days. Default: never. */
  ttlMs?: number;
  /** How messages and metadata become text: {@link jsonCodec} (the default), `gzipCodec`, `aesGcmCodec`, or your own. */
  codec?: Codec;
  /** What the library asks of a message. Default {@link chatMessageTraits}, for {@link ChatMessage}; other messages need theirs. */
  traits?: MessageTraits<M>;
  /** Called with the `CORRUPT` error of each record that cannot be read, which is then skipped. Default: reads throw it. */
  onCorruptRecord?: (error: StoreError) => void;
}

/**
 * Makes `traits` required where messages are no {@link ChatMessage}. What an adapter's factory takes beside its options.
 *
 * @example
 * export function createMyStores<M = ChatMessage>(options: MyOptions<M> & TraitsOption<M>): StoreFactory<M>;
 */
export type TraitsOption<M> = [M] extends [ChatMessage] ? unknown : { readonly traits: MessageTraits<M> };

/** What {@link StoreFactory.copyThread} takes. */
export interface CopyThreadOptions<M> {
  /** Copies no message after this place: the `newer` of a page that ends with the last one to copy. Default: all messages. */
  upTo?: Cursor;
  /** The factory that the copy is made in. Default: this one. */
  target?: StoreFactory<M>;
  /** The copy expires so many milliseconds from now: a positive integer. Default: the target's `ttlMs`. */
  ttlMs?: number;
  /** Is called after each commit. `total` is how many messages there are to copy in all. */
  onProgress?: (progress: { readonly copied: number; readonly total: number }) => void;
  signal?: AbortSignal;
}

/** What {@link StoreFactory.copyThread} has done. */
export interface ThreadCopy {
  /** How many messages this call has copied; 0 where an earlier call had copied all. */
  readonly copied: number;
  /** The target's revision; `null` where there was nothing to copy. */
  readonly revision: Revision | null;
}

/** One backend, all threads of one namespace, one connection. */
export interface StoreFactory<M = ChatMessage> extends AsyncDisposable {
  /** What the factory was given; absent where it was left out. Frozen. */
  readonly settings: Readonly<StoreSettings & { backend: string }>;
  /**
   * The store of a thread, without I/O. A thread id left out is generated (UUID v7). Thread ids are 1 to 1,024 bytes.
   *
   * @param settings win over the factory's, for this store.
   */
  open(threadId?: string, settings?: StoreSettings): MessageStore<M>;
  /** The store of a serialised state, without I/O. @throws StoreError `INVALID_STATE`, also for nothing. */
  restore(state: unknown): MessageStore<M>;
  /**
   * The same threads, settings and connection for messages of another type, without I/O. Closing one factory closes both.
   *
   * @throws StoreError `INVALID_ARGUMENT` for what are no traits.
   */
  withTraits<N>(traits: MessageTraits<N>): StoreFactory<N>;
  /**
   * How many bytes a value takes as a thread's metadata, encoded by the factory's codec; at most 256 KiB fit. No I/O.
   *
   * @throws StoreError `INVALID_ARGUMENT` for a value that cannot be stored, `TOO_LARGE` past a limit of the codec's own.
   */
  metadataSize(metadata: unknown): number;
  /**
   * One page of the factory's threads, in no particular order. A thread that is there during the whole listing is on at least
   * one page, perhaps on two; expired and deleted threads are on none. A page may be empty and have a cursor.
   *
   * @throws StoreError `INVALID_ARGUMENT` for a cursor of another backend's listing; `CORRUPT` for a thread that cannot be
   *   read, which an `onCorruptRecord` is told of instead.
   */
  listThreads(options?: ListThreadsOptions): Promise<ThreadList>;
  /** The threads of all pages of {@link listThreads}, one after the other; reads a page when it is needed. */
  iterateThreads(options?: Omit<ListThreadsOptions, "cursor">): AsyncIterable<ThreadInfo>;
  /**
   * Deletes a thread for good, in one atomic step: its messages and metadata are gone from the backend when this returns, its
   * revision is `null`, and it is listed no more. What else was kept of it (its id, operation ids) goes within the time that
   * the backend's page states. A later write begins a new thread. A thread that is not there is no error.
   *
   * @throws StoreError `CONFLICT` where the thread is not at `expectedRevision`.
   * @example
   * await stores.deleteThread("chat-1");
   */
  deleteThread(threadId: string, options?: DeleteThreadOptions): Promise<void>;
  /**
   * Copies a thread: messages, their times, the thread's times and the metadata; in one atomic commit where they fit one, else
   * in several. The same call again goes on where one that failed has stopped, and nothing is doubled; after one that was
   * finished it does nothing. `maxMessages` is the target's, and so is `ttlMs` unless it is given. What is added to the source
   * meanwhile may be copied or not. A copy in several commits may show what was replaced meanwhile in part as it was before.
   *
   * @returns how many messages this call has copied, and the target's revision; `null` where there was nothing to copy.
   * @throws StoreError `CONFLICT` where the target has content that this copy did not write, and where the source was deleted,
   *   trimmed or cleared while it was copied in several commits, or is an unfinished copy itself; `INVALID_ARGUMENT` where
   *   `upTo` is no cursor of the source as it is now.
   * @example
   * await stores.copyThread("chat-1", "chat-1-branch", { upTo: page.newer });
   */
  copyThread(from: string, to: string, options?: CopyThreadOptions<M>): Promise<ThreadCopy>;
  /**
   * Makes what the backend needs (tables, indexes), and proves that the stores can work: the call by which a server's start
   * fails early. Sends at least one request each time where there is a backend to ask, and writes no message. Can run twice,
   * and at once from two processes. An outage is ridden out for 5 seconds.
   *
   * @throws StoreError `UNAVAILABLE` when nothing answers, or when a login, a permission, a database or a table is refused or
   *   missing: the message says which; `UNSUPPORTED` for a server or tables that the adapter cannot use.
   * @example
   * const stores = await openStores(process.env.DATABASE_URL);
   * await stores.setup();
   */
  setup(): Promise<void>;
  /** Frees what the factory opened; a client that was handed in stays open. Twice is the same as once. */
  close(): Promise<void>;
}
