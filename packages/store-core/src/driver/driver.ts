import type { MessageRecord, ThreadEntry } from "../codec/record.ts";
import type { StoreErrorCode } from "../errors.ts";
import type { Trimming } from "../trimming/trimming.ts";
import type { EntryIndex } from "./entry-index.ts";
import type { Revision } from "./revision.ts";

/**
 * The capabilities of a backend, as frozen plain data. store-core rejects an option that the driver cannot honour, before
 * any I/O. The conformance suite skips a test only by a capability.
 */
export interface DriverCapabilities {
  /** The backend's name in serialised states: lower case, e.g. `redis`. */
  readonly backend: string;
  /**
   * The maximum size of a message's text in UTF-8 bytes: at least 4 MiB + 1 KiB, so that 3 MiB of bytes fit when encoded. A
   * larger text is `TOO_LARGE`. What the driver stores beside the text does not count.
   */
  readonly maxMessageBytes: number;
  /** The maximum total size of the texts of a commit's messages and metadata in UTF-8 bytes. A larger commit is `TOO_LARGE`. */
  readonly maxCommitBytes: number;
  /** The maximum number of messages in one commit; `Number.MAX_SAFE_INTEGER` for no limit. A larger commit is `TOO_LARGE`. */
  readonly maxCommitMessages: number;
  /** Which clients see a thread: only this driver object, all processes of one machine, or every client of a server. */
  readonly sharing: "driver" | "machine" | "network";
  /** Whether `ttlMs` is supported. */
  readonly expiry: boolean;
  /** The maximum number of commits after which trimmed content is removed from the backend; 0: in the same atomic step. */
  readonly trimmedWithinCommits: number;
  /** The maximum time in milliseconds after which the backend stores no data of a deleted thread; 0: when `delete` returns. */
  readonly deletedWithinMs: number;
  /**
   * Of the {@link Driver.index}; absent if the driver has none. `maxValueBytes`: the maximum size of an entry's value in
   * UTF-8 bytes: at least 32 KiB. A larger value is `TOO_LARGE`. `vectors`: absent if it cannot search by vectors.
   */
  readonly index?: {
    readonly maxValueBytes: number;
    readonly vectors?: { readonly maxDimensions: number };
  };
  /**
   * The number of requests to the backend in the steady state, for a commit and for a read of the newest few messages. 0
   * for none.
   */
  readonly roundTrips: { readonly commit: number; readonly read: number };
}

/**
 * A commit as a driver receives it: checked, encoded and complete. The driver applies it in one atomic step:
 *
 * 1. If the thread does not exist or has expired, it starts empty, at revision `null`, with `newIncarnation`.
 * 2. If `operationId` is among the newest 64 of the thread (also after a clear), or was committed in the last 10 seconds
 *    and may be sent again because its reply was lost, nothing is written. The outcome is `repeated` with the first
 *    commit's revision if `digest` is the same, otherwise `operation-conflict`.
 * 3. If `expectedRevision` is given and is not the thread's revision, nothing is written: outcome `revision-conflict`.
 * 4. The driver drops, appends, sets the metadata, trims (`planCommit` computes the sequence numbers that stay), sets or
 *    removes the expiry, and sets the times.
 * 5. The revision becomes `formatRevision(incarnation, n + 1)`. The driver remembers operation id, digest and revision.
 *
 * If the promise rejects, the commit happened as a whole or not at all. store-core may then send the same request again,
 * with another `newIncarnation`.
 */
export interface CommitRequest {
  /** Any well-formed string of 1 to 1,024 bytes. */
  readonly threadId: string;
  /** Any well-formed string of 1 to 1,024 bytes. */
  readonly operationId: string;
  /**
   * Equal for two requests with the same operation id and the same change. For an id that the caller gave: a digest of
   * what is dropped, appended and set (22 characters of base64url). For an id that store-core generated: a constant.
   */
  readonly digest: string;
  /**
   * True if no earlier commit can have this operation id: store-core generated it and sends it for the first time. A
   * driver may then skip step 2, unless the backend's client repeats requests by itself.
   */
  readonly isNewOperation?: boolean;
  /**
   * The incarnation of a thread that this commit begins: random, 16 characters of base64url. store-core generates another
   * one for each attempt, so that no revision is reused if the thread expired in between.
   */
  readonly newIncarnation: string;
  /** Undefined: any revision. `null`: only if the thread does not exist. */
  readonly expectedRevision: Revision | null | undefined;
  /**
   * The number of messages to drop from the end; 0 for none. `"all"` also makes their content unreadable before the
   * commit is acknowledged.
   */
  readonly drop: number | "all";
  /** The messages to append, in order. */
  readonly append: readonly MessageRecord[];
  /** The text of the thread's new metadata, never empty; `null` removes the metadata, undefined keeps it. */
  readonly metadata: string | null | undefined;
  /** The number of messages to trim the thread to; undefined: no trimming. */
  readonly maxMessages: number | undefined;
  readonly trimming: Trimming;
  /** The time until the thread expires, in milliseconds; undefined: never, also if an expiry was set before. */
  readonly ttlMs: number | undefined;
  /** The thread's `createdAt` if this commit begins it: an integer of 1 to 13 digits, in milliseconds since 1970. */
  readonly createdAt: number;
  /** The thread's `updatedAt` after this commit, in the same form. */
  readonly updatedAt: number;
  /** See {@link DeleteRequest.sendBefore}. */
  readonly sendBefore?: number | undefined;
  /** Aborted when no caller waits any more. A driver may ignore it, because store-core stops waiting independently. */
  readonly signal: AbortSignal | undefined;
}

/** The outcome of a commit. `revision` is the new one, the one of the first commit, or the thread's current one. */
export type CommitOutcome =
  | { readonly outcome: "committed" | "repeated"; readonly revision: Revision }
  | { readonly outcome: "revision-conflict" | "operation-conflict"; readonly revision: Revision | null };

/** A read as a driver receives it. At most one of `before` and `after` is given. */
export interface ReadRequest {
  readonly threadId: string;
  /** The maximum number of entries: an integer of 0 or more, or Infinity. The newest entries; with `after` the first ones. */
  readonly limit: number;
  /** Only entries with a smaller sequence number. */
  readonly before: number | undefined;
  /** Only entries with a larger sequence number. */
  readonly after: number | undefined;
  /** Whether the metadata is wanted. */
  readonly metadata: boolean;
  readonly signal: AbortSignal | undefined;
}

/** The times of a thread. */
interface ThreadTimes {
  /** In milliseconds since 1970, from the commit that began the thread. 0 for a thread that does not exist. */
  readonly createdAt: number;
  /** From the thread's newest commit. 0 for a thread that does not exist. */
  readonly updatedAt: number;
  /** The time of expiry, by the backend's or the writer's clock; absent: never. */
  readonly expiresAt?: number | undefined;
}

/** The requested part of a thread, at one revision. */
export interface ThreadView extends ThreadTimes {
  /** `null` for a thread that does not exist; everything else is then empty. */
  readonly revision: Revision | null;
  /** The number of messages in the whole thread. */
  readonly count: number;
  /** The sequence numbers of the thread's first and last message. Meaningless when `count` is 0. */
  readonly first: number;
  readonly last: number;
  /** The sequence number of the thread's newest compaction item (`newestCompaction` of its {@link TrimSearch}); absent or 0: none. */
  readonly newestCompaction?: number | undefined;
  /**
   * Oldest first. A message is returned exactly as stored: as it was given, unless it was damaged; then also with an unknown kind or an
   * invalid time, which store-core reports. With kind `o`, time 0 and an empty text for one that is missing.
   */
  readonly entries: readonly ThreadEntry[];
  /** The metadata's text; absent if none is set or none was requested. */
  readonly metadata?: string | undefined;
}

/** The view of a thread that does not exist. */
export const NO_THREAD: ThreadView = Object.freeze({
  revision: null,
  count: 0,
  first: 0,
  last: 0,
  entries: [],
  createdAt: 0,
  updatedAt: 0,
});

/**
 * A deletion as a driver receives it. It is atomic. When it returns, the backend stores none of the content, the thread
 * is at revision `null`, and a later commit begins a new incarnation.
 *
 * 1. If a deletion with this `operationId` was already made, nothing is done: outcome `repeated`. A repeated request,
 *    sent because a reply was lost, must not delete a thread that was begun since.
 * 2. If `expectedRevision` is given and is not the thread's revision, nothing is done: outcome `revision-conflict`.
 * 3. The thread is deleted, if it exists. The rest of an expired thread is removed too.
 *
 * If a reply can be lost, the operation ids of the thread's newest commits stay remembered for `REMEMBERED_MS`.
 */
export interface DeleteRequest {
  readonly threadId: string;
  readonly operationId: string;
  readonly expectedRevision: Revision | null | undefined;
  /**
   * The time of `performance.now()` before which a repeated request must be sent: later the driver may have forgotten the
   * first one ({@link REPEATED_WITHIN_MS}). Undefined for the first request. For drivers that remember for a time.
   */
  readonly sendBefore?: number | undefined;
  readonly signal: AbortSignal | undefined;
}

/** The outcome of a deletion. `revision` is the thread's current one. */
export type DeleteOutcome =
  | { readonly outcome: "deleted" | "repeated" }
  | { readonly outcome: "revision-conflict"; readonly revision: Revision | null };

/** A page of a listing as a driver receives it. */
export interface ListRequest {
  /** Only threads whose ids begin with this prefix; `""` for all. */
  readonly prefix: string;
  /** The maximum number of threads: an integer from 1 to 1,000. The backend may return fewer. */
  readonly limit: number;
  /** The end of the previous page: a string in the driver's own format; undefined for the first page. Untrusted input. */
  readonly cursor: string | undefined;
  /** Whether to return `bytes`, if the backend knows them. Default: false. */
  readonly sizes?: boolean | undefined;
  readonly signal: AbortSignal | undefined;
}

/** A thread of a listing. */
export interface ListedThread extends ThreadTimes {
  readonly threadId: string;
  readonly count: number;
  /** The metadata's text; absent if none is set. */
  readonly metadata?: string | undefined;
  /** The size of the stored texts in bytes; absent without `sizes`, and if the backend does not know it. */
  readonly bytes?: number | undefined;
}

/**
 * A page of a listing. A thread that exists during the whole listing is on at least one page. A thread that is expired or
 * deleted when its page is read is on no page. An empty page may still have a cursor.
 */
export interface ThreadListing {
  readonly threads: readonly ListedThread[];
  /** The start of the next page; absent on the last page. At most 4 KiB. */
  readonly cursor?: string | undefined;
  /** The threads that cannot be listed. Default: none. */
  readonly corrupt?: readonly UnreadableThread[] | undefined;
}

/** A thread that cannot be listed. */
interface UnreadableThread {
  readonly threadId: string;
  /** What is damaged, for the message of a `CORRUPT` error. */
  readonly problem: string;
}

/** A thread with its content, for backends whose state contains it. */
export interface ThreadSnapshot {
  readonly messages: readonly MessageRecord[];
  readonly metadata?: string;
  /** All times are in milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Absent if the thread does not expire. */
  readonly expiresAt?: number;
}

/** The location of a driver's threads in the database's own terms, for observability. Names only, never a secret. */
export interface DriverTarget {
  /** The collection or table. */
  readonly collection?: string;
  /** The database: its name, or the number of a Redis database. */
  readonly namespace?: string;
  /** The server, if it has a known address. */
  readonly server?: { readonly address: string; readonly port: number };
}

/** The classification of a backend's raw error. The message contains no secret. The raw error becomes the `cause`. */
export interface ErrorClassification {
  readonly code: StoreErrorCode;
  readonly message: string;
  readonly retryable?: boolean;
  readonly sequence?: number;
  /** True if the request failed, and wrote nothing, because something is missing that {@link Driver.setup} makes. */
  readonly isMissing?: boolean;
}

/**
 * The interface of an adapter: one connection to a backend, all threads of one namespace. The constructor does no I/O.
 * The first verb connects; two concurrent first verbs are safe. store-core has checked every argument. Verbs throw the
 * backend's raw errors, which store-core passes to `classifyError`, or a StoreError. No verb blocks the event loop.
 *
 * Threads and namespaces never collide: an id reaches only its own thread, regardless of its characters.
 */
export interface Driver {
  readonly capabilities: DriverCapabilities;
  /** Absent if unknown. */
  readonly target?: DriverTarget | undefined;
  /**
   * True if store-core must send each request once, also after an error that is worth a retry: the connection may be in a transaction of
   * the caller, which the error has ended.
   */
  readonly sendsOnce?: boolean;
  /**
   * See {@link CommitRequest}. Every reader sees the commit as a whole or not at all. Every read that starts after it
   * returned sees it.
   */
  commit(request: CommitRequest): Promise<CommitOutcome>;
  /**
   * See {@link ReadRequest}. Returns an empty view for a thread that does not exist or has expired, whether or not it was
   * swept.
   */
  read(request: ReadRequest): Promise<ThreadView>;
  /** See {@link DeleteRequest}. */
  delete(request: DeleteRequest): Promise<DeleteOutcome>;
  /**
   * See {@link ListRequest} and {@link ThreadListing}. Lists only this driver's namespace. The limit of a page bounds the
   * number of requests. @throws StoreError `INVALID_ARGUMENT` for a cursor that is not this driver's.
   */
  list(request: ListRequest): Promise<ThreadListing>;
  /**
   * Calls `onHint` soon after a commit to the thread, and after its deletion, by any process. A hint has no data: it
   * may come late, twice, without a change, or not at all, so callers also poll. `onHint` returns at once and never
   * throws. The caller disposes the watch; `close` ends it too. Sends nothing before it returns, and reports no errors. Absent if the
   * backend, or the configuration of the driver, has no hints.
   *
   * A driver whose connection may be lost also calls `onHint` when the connection begins to bring hints of the thread, and when it is lost:
   * changes before that may have had no hint.
   */
  readonly watch?: ((threadId: string, onHint: () => void) => Disposable) | undefined;
  /** The index, in the same namespace. Absent if the backend has none: then layers that keep lists cannot use the driver. */
  readonly index?: EntryIndex | undefined;
  /**
   * Releases what the driver opened. A client that was passed in stays open. Called once. Never waits for an operation
   * that hangs.
   */
  close(): Promise<void>;
  /**
   * Creates missing tables or indexes. May run repeatedly and concurrently in several processes. Absent if nothing has to be
   * created. After `StoreFactory.setup` store-core sends a commit with a wrong expected revision, to detect an unusable backend. With the
   * option `setup` it runs after an error that is classified as `isMissing`.
   *
   * @returns what it created and where, for a message: `the table "chats"`. Undefined: nothing, or unknown.
   */
  setup?(): Promise<string | undefined> | Promise<void>;
  /**
   * True if requests succeed although something is missing that `setup` makes, such as an index. With the option `setup` it then runs
   * before the first request.
   */
  readonly worksWithoutSetup?: boolean | undefined;
  /** The statements with which `setup` creates what is missing, for another client. Absent if there are none. Sends no request. */
  setupScript?(): Promise<string>;
  /**
   * Classifies a raw error thrown by a verb. Returns undefined for an unknown error, which store-core reports as
   * `UNAVAILABLE`, not retryable.
   */
  classifyError(error: unknown): ErrorClassification | undefined;
  /** Only for backends in this process's memory: returns the thread with its content; undefined if it does not exist. */
  exportThread?(threadId: string): ThreadSnapshot | undefined;
  /** The inverse: creates the thread from a snapshot, unless it already exists. */
  importThread?(threadId: string, snapshot: ThreadSnapshot): void;
}

/** The maximum size of the value of an entry of an index, on every backend of this repository. */
export const MAX_VALUE_BYTES = 32 * 1_024;

/** The number of a thread's newest operation ids that a driver remembers. */
export const REMEMBERED_OPERATIONS = 64;

/**
 * The time in milliseconds for which a driver over a network remembers each operation id, beyond the newest 64. During
 * this time a store may repeat a commit whose reply was lost.
 */
export const REMEMBERED_MS = 10_000;

/**
 * The timeout of a client that an adapter opens, in milliseconds: of a connection, and of a reply. It is shorter than store-core's 5
 * seconds of retries, so that a request without a reply is sent again.
 */
export const REQUEST_TIMEOUT_MS = 4_000;

/**
 * The time in milliseconds after the first attempt within which a repeated request must be sent. It arrives within
 * `REQUEST_TIMEOUT_MS` more or not at all, so the driver still remembers the first attempt.
 */
export const REPEATED_WITHIN_MS = REMEMBERED_MS - REQUEST_TIMEOUT_MS;
