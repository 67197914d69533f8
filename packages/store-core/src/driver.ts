import type { StoreError, StoreErrorCode } from "./errors.ts";
import type { ThreadSnapshot } from "./state.ts";
import type { Revision } from "./store.ts";
import type { Trimming } from "./trimming.ts";

/**
 * What a backend can do, as frozen plain data. Read by store-core (which refuses, before any I/O, an option that the
 * driver cannot honour) and by the conformance suite (which has no other way to leave a test out).
 */
export interface DriverCapabilities {
  /** The backend's name, as a serialised state carries it: lower case, e.g. `redis`. */
  readonly backend: string;
  /** The largest record in UTF-8 bytes, at least 4 MiB + 1 KiB so that 3 MiB of bytes fit when encoded. Past it: `TOO_LARGE`. */
  readonly maxMessageBytes: number;
  /** The largest sum of a commit's records and metadata in UTF-8 bytes. Past it: `TOO_LARGE`. */
  readonly maxCommitBytes: number;
  /** The most messages of one commit; `Number.MAX_SAFE_INTEGER` where there is no limit. Past it: `TOO_LARGE`. */
  readonly maxCommitMessages: number;
  /** Who can see a thread: only this driver object, all processes of one machine, or every client of a server. */
  readonly sharing: "driver" | "machine" | "network";
  /** Whether `ttlMs` is honoured. */
  readonly expiry: boolean;
  /** After how many commits at the latest what trimming made invisible is gone from the backend; 0: in the same step. */
  readonly trimmedWithinCommits: number;
  /** After how many milliseconds at the latest nothing of a deleted thread is left in the backend; 0: when `delete` returns. */
  readonly deletedWithinMs: number;
  /** Requests to the backend in the steady state: a commit, and a read of the newest few. 0 where there is no request. */
  readonly roundTrips: { readonly commit: number; readonly read: number };
}

/**
 * A commit as a driver receives it: checked, encoded, complete. The driver makes it one atomic step:
 *
 * 1. Thread gone or expired? Then it starts empty, at revision `null`, with `newIncarnation`.
 * 2. `operationId` among the newest 64 of the thread (also after a clear), or made in the last 10 seconds and perhaps sent
 *    again because its reply was lost? Then nothing is written: outcome `repeated` with the revision it got then when
 *    `digest` is the same, else `operation-conflict`.
 * 3. `expectedRevision` given and not the thread's revision? Then nothing is written: outcome `revision-conflict`.
 * 4. Drop, append, set the metadata, trim (`planCommit` says which sequence numbers stay), set or remove the expiry, set the
 *    times.
 * 5. The revision becomes `formatRevision(incarnation, n + 1)`, and operation id, digest and revision are remembered.
 *
 * When the promise rejects, the commit happened as a whole or not at all. The same request may then come again, with another
 * `newIncarnation`.
 */
export interface CommitRequest {
  /** Any well-formed string of 1 to 1,024 bytes. */
  readonly threadId: string;
  /** Any well-formed string of 1 to 1,024 bytes. */
  readonly operationId: string;
  /**
   * What two requests with the same operation id must have in common: for an id that the caller gave a digest of what is
   * dropped, appended and set (22 characters of base64url), for a random id that store-core made a constant.
   */
  readonly digest: string;
  /**
   * True where no commit can have this operation id yet: store-core made it and sends it for the first time. A driver may
   * then leave out step 2, unless the backend's client sends requests again by itself.
   */
  readonly isNewOperation?: boolean;
  /**
   * The incarnation to begin with if the thread is gone: random, 16 characters of base64url. Another one each time that
   * store-core sends the commit again, so that no revision returns when the thread expired in between.
   */
  readonly newIncarnation: string;
  /** Undefined: whatever the revision. `null`: only if the thread is gone. */
  readonly expectedRevision: Revision | null | undefined;
  /** How many messages to drop from the end; 0 for none. `"all"` also makes their content unreadable by the time the commit is acknowledged. */
  readonly drop: number | "all";
  /** Records to add, in order. Opaque but for `kindOfRecord`. */
  readonly append: readonly string[];
  /** A record to set as the thread's metadata, `null` to remove it, undefined to keep what there is. */
  readonly metadata: string | null | undefined;
  /** Trim to so many messages; undefined: no trimming. */
  readonly maxMessages: number | undefined;
  readonly trimming: Trimming;
  /** The thread expires so many milliseconds from now; undefined: never, also when it was to expire before. */
  readonly ttlMs: number | undefined;
  /** The thread's `createdAt` if this commit begins it: a whole number of 1 to 13 digits, in milliseconds since 1970. */
  readonly createdAt: number;
  /** The thread's `updatedAt` after this commit, of the same kind. */
  readonly updatedAt: number;
  /** Aborted when nobody waits any more. A driver may ignore it: store-core stops waiting by itself. */
  readonly signal: AbortSignal | undefined;
}

/** How a commit ended. `revision` is the new one, the one of the first time, or where the thread stands. */
export type CommitOutcome =
  | { readonly outcome: "committed" | "repeated"; readonly revision: Revision }
  | { readonly outcome: "revision-conflict" | "operation-conflict"; readonly revision: Revision | null };

/** A read as a driver receives it. At most one of `before` and `after` is given. */
export interface ReadRequest {
  readonly threadId: string;
  /** At most so many entries, a whole number from 0 or Infinity. The newest ones; with `after` the first ones. */
  readonly limit: number;
  /** Only entries with a smaller sequence number. */
  readonly before: number | undefined;
  /** Only entries with a larger sequence number. */
  readonly after: number | undefined;
  /** Whether the metadata is wanted. */
  readonly metadata: boolean;
  readonly signal: AbortSignal | undefined;
}

/** What every look at a thread tells. */
export interface ThreadTimes {
  /** In milliseconds since 1970, as the commit that began the thread said. 0 for a thread that is not there. */
  readonly createdAt: number;
  /** As its newest commit said. 0 for a thread that is not there. */
  readonly updatedAt: number;
  /** When the thread expires, by the backend's clock or the writer's; absent: never. */
  readonly expiresAt?: number | undefined;
}

/** One revision of a thread, as far as it was asked for. Never a blend of two. */
export interface ThreadView extends ThreadTimes {
  /** `null` for a thread that is not there; then everything else is empty. */
  readonly revision: Revision | null;
  /** How many messages the whole thread has. */
  readonly count: number;
  /** The sequence numbers of the thread's first and last message. Meaningless when `count` is 0. */
  readonly first: number;
  readonly last: number;
  /** Oldest first. A record comes back exactly as it was given, or as whatever is stored in its place. */
  readonly entries: readonly { readonly sequence: number; readonly record: string }[];
  /** The metadata's record, absent where none is set or none was asked for. */
  readonly metadata?: string | undefined;
}

/** The view of a thread that is not there. */
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
 * A deletion as a driver receives it. Atomic: content is gone at rest when it returns, the thread is at revision `null`, and a
 * later commit begins a new one with `newIncarnation`.
 *
 * 1. Was a deletion with this `operationId` made already? Then nothing is done: outcome `repeated`. It matters where the
 *    reply may have been lost: a thread that was begun since must not be deleted by the request that comes again.
 * 2. `expectedRevision` given and not the thread's revision? Then nothing is done: outcome `revision-conflict`.
 * 3. The thread is deleted, if it is there. What an expired thread left behind is removed too.
 *
 * The operation ids of its newest commits are remembered for `REMEMBERED_MS` more where a reply can be lost.
 */
export interface DeleteRequest {
  readonly threadId: string;
  readonly operationId: string;
  readonly expectedRevision: Revision | null | undefined;
  readonly signal: AbortSignal | undefined;
}

/** How a deletion ended. `revision` is where the thread stands. */
export type DeleteOutcome =
  | { readonly outcome: "deleted" | "repeated" }
  | { readonly outcome: "revision-conflict"; readonly revision: Revision | null };

/** A page of a listing as a driver receives it. */
export interface ListRequest {
  /** Only threads whose ids begin with it; `""` for all. */
  readonly prefix: string;
  /** About so many threads, a whole number from 1 to 1,000: never more, but fewer where the backend finds fewer at once. */
  readonly limit: number;
  /** Where the page before ended: a string of the driver's own; undefined for the first page. Made by anyone, so not trusted. */
  readonly cursor: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/** A thread of a listing. */
export interface ListedThread extends ThreadTimes {
  readonly threadId: string;
  readonly count: number;
  /** The metadata's record; absent where none is set. */
  readonly metadata?: string | undefined;
  /** The bytes of its records at rest, about; absent where the backend does not know. */
  readonly bytes?: number | undefined;
}

/**
 * A page of a listing. A thread that is there during the whole listing is on at least one page; one that is expired or deleted
 * when its page is read on none. A page may be empty and have a cursor.
 */
export interface ThreadListing {
  readonly threads: readonly ListedThread[];
  /** Where the next page begins; absent after the last one. At most 4 KiB. */
  readonly cursor?: string | undefined;
  /** The `CORRUPT` errors of threads that cannot be listed. Default: none. */
  readonly corrupt?: readonly StoreError[] | undefined;
}

/** Where a driver keeps its threads, in the database's own words, for whoever observes it. Names only, never a secret. */
export interface DriverTarget {
  /** The collection or table. */
  readonly collection?: string;
  /** The database: its name, Redis' number. */
  readonly namespace?: string;
  /** The server, where there is one that is known by its address. */
  readonly server?: { readonly address: string; readonly port: number };
}

/** What a backend's raw error means to a user. The message names no secret; the raw error becomes the `cause`. */
export interface ErrorClassification {
  readonly code: StoreErrorCode;
  readonly message: string;
  readonly retryable?: boolean;
  readonly sequence?: number;
}

/**
 * What an adapter implements: one connection to a backend, all threads of one namespace. Construction does no I/O;
 * the first verb connects, and two first verbs at once are safe. store-core has checked every argument. Verbs throw
 * the backend's raw errors (`classifyError` is asked about them) or a StoreError. No verb blocks the event loop.
 *
 * Thread ids and namespaces never meet: whatever characters an id has, it reaches only its own thread.
 */
export interface Driver {
  readonly capabilities: DriverCapabilities;
  /** Absent where there is nothing to tell. */
  readonly target?: DriverTarget | undefined;
  /** See {@link CommitRequest}. Seen by every reader as a whole or not at all, and by all that start after it returned. */
  commit(request: CommitRequest): Promise<CommitOutcome>;
  /** See {@link ReadRequest}. A thread that is not there (or expired, swept or not) is an empty view. */
  read(request: ReadRequest): Promise<ThreadView>;
  /** See {@link DeleteRequest}. */
  delete(request: DeleteRequest): Promise<DeleteOutcome>;
  /**
   * See {@link ListRequest} and {@link ThreadListing}. Only this driver's namespace. The requests of a page are bounded by
   * its limit. @throws StoreError `INVALID_ARGUMENT` for a cursor that is none of this driver's.
   */
  list(request: ListRequest): Promise<ThreadListing>;
  /** Frees what the driver opened; a client that was handed in stays open. Called once; waits for nothing that hangs. */
  close(): Promise<void>;
  /**
   * Makes tables or indexes. Can run twice, and at once from two processes. Absent where there is nothing to make. store-core
   * sends a commit after it that expects a wrong revision, so that a backend that cannot be used is told.
   */
  setup?(): Promise<void>;
  /** Says what a raw error thrown by a verb means. Errors it does not know: undefined, taken as `UNAVAILABLE`, not retryable. */
  classifyError(error: unknown): ErrorClassification | undefined;
  /** For backends that live in this process only: the thread with its content; undefined for one that is not there. */
  exportThread?(threadId: string): ThreadSnapshot | undefined;
  /** The other half: makes the thread from a snapshot unless it is there already. */
  importThread?(threadId: string, snapshot: ThreadSnapshot): void;
}

/** How many of a thread's newest operation ids a driver remembers. */
export const REMEMBERED_OPERATIONS = 64;

/**
 * How many milliseconds a driver over a network remembers each operation id, beyond the newest 64: for so long a store may be
 * sending a commit again whose reply was lost. It retries for 5 seconds, and the last request ends within 4 more.
 */
export const REMEMBERED_MS = 10_000;

/** The revision of commit number `n` (from 1) in `incarnation`. */
export function formatRevision(incarnation: string, n: number): Revision {
  return `${incarnation}.${n}`;
}
