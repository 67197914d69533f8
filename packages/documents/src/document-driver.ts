import {
  type CommitOutcome,
  type CommitRequest,
  type DeleteOutcome,
  type DeleteRequest,
  type Driver,
  type DriverCapabilities,
  type DriverTarget,
  type EntryIndex,
  type ErrorClassification,
  IdCursor,
  type ListRequest,
  MAX_VALUE_BYTES,
  NO_THREAD,
  type ReadRequest,
  SequenceBounds,
  type ThreadListing,
  type ThreadView,
} from "@scrollback/store-core/driver";
import { type Clock, RecentMap, systemClock } from "@scrollback/store-core/internal";
import type { DocumentCapabilities, DocumentDatabase, Head, Page } from "./database.ts";
import { loadPages } from "./driver/load-pages.ts";
import { ThreadMemory } from "./driver/thread-memory.ts";
import { damagedHead, ThreadWriter, tooManyWriters } from "./driver/thread-writer.ts";
import { type Turn, Turns } from "./driver/turns.ts";
import { type Limits, limitsOf, TRIMMED_WITHIN_COMMITS } from "./rules/limits.ts";
import { DELETED_WITHIN_MS, isAlive } from "./rules/times.ts";
import { metadataOf, pagesFor, viewOf } from "./rules/view.ts";

/** The number of threads whose heads a driver caches. */
const CACHE_SIZE = 1_000;
/** The number of times that a read begins again because pages were removed meanwhile. */
const MAX_READS = 100;
/** The number of threads of a listing whose metadata is read at once. */
const READ_AT_ONCE = 8;

/** The options of {@link DocumentDriver}. */
export interface DocumentDriverOptions {
  /** The clocks of the driver, for tests. Default: the system clocks. */
  readonly clock?: Clock;
  /**
   * True if another process calls the driver, over a network that may lose an outcome: the driver then never forgets an operation early
   * because its outcome was returned. Default: false.
   */
  readonly isRemote?: boolean;
}

/** A commit or a deletion in its turn. */
interface Write extends Turn {
  readonly request: CommitRequest | undefined;
  readonly deletion: DeleteRequest | undefined;
  resolve(outcome: CommitOutcome | DeleteOutcome): void;
}

/**
 * Makes a {@link Driver} of a {@link DocumentDatabase}. A thread is one document, its head, with the newest messages in it, and pages of older
 * ones, which the head lists and which never change. A commit replaces the head on the condition that no other writer did.
 *
 * In the steady state a commit is one request, and a read of the newest 20 messages is one. About every 32nd commit writes a page first. A
 * commit to a thread that is new, or unknown to this process, reads the head first. Appends of one process to one thread that
 * wait for each other share a request. The driver caches the heads of 1,000 threads.
 */
export class DocumentDriver implements Driver {
  readonly capabilities: DriverCapabilities;
  readonly target: DriverTarget | undefined;
  readonly index: EntryIndex | undefined;
  readonly worksWithoutSetup: boolean | undefined;
  readonly #database: DocumentDatabase;
  readonly #options: { readonly clock: Clock; readonly limits: Limits; readonly isRemote: boolean };
  readonly #memories = new RecentMap<ThreadMemory>(CACHE_SIZE);
  readonly #turns = new Turns<Write>((threadId, writes) => this.#make(threadId, writes));

  constructor(
    database: DocumentDatabase,
    { clock = systemClock, isRemote = false }: DocumentDriverOptions = {},
  ) {
    this.#database = database;
    const { maxDocumentBytes, ...given } = database.capabilities;
    this.#options = { clock, limits: limitsOf(maxDocumentBytes), isRemote };
    this.capabilities = DocumentDriver.capabilitiesOf(given, database.index !== undefined);
    this.target = database.target;
    this.index = database.index;
    this.worksWithoutSetup = database.worksWithoutSetup;
    const { setup } = database;
    if (setup) this.setup = () => setup.call(database);
  }

  /** The capabilities of a driver over a database, for one that passes its requests on to such a driver. */
  static capabilitiesOf(
    given: Omit<DocumentCapabilities, "maxDocumentBytes">,
    hasIndex: boolean,
  ): DriverCapabilities {
    return Object.freeze({
      roundTrips: Object.freeze({ commit: 1, read: 1 }),
      maxMessageBytes: 16 * 1024 ** 2,
      maxCommitBytes: 64 * 1024 ** 2,
      maxCommitMessages: Number.MAX_SAFE_INTEGER,
      expiry: true,
      trimmedWithinCommits: TRIMMED_WITHIN_COMMITS,
      deletedWithinMs: DELETED_WITHIN_MS,
      ...given,
      ...(hasIndex && { index: Object.freeze({ maxValueBytes: MAX_VALUE_BYTES }) }),
    });
  }

  setup?: NonNullable<Driver["setup"]>;

  commit(request: CommitRequest): Promise<CommitOutcome> {
    return this.#inTurn<CommitOutcome>(request, { request, deletion: undefined });
  }

  delete(request: DeleteRequest): Promise<DeleteOutcome> {
    return this.#inTurn<DeleteOutcome>(request, { request: undefined, deletion: request });
  }

  async read(request: ReadRequest): Promise<ThreadView> {
    const { threadId } = request;
    const loaded = new Map<string, Page | null>();
    let known = await this.#database.load(threadId);
    for (let attempt = 0; attempt < MAX_READS; attempt++) {
      if (known && !known.head) throw damagedHead();
      const head = known?.head;
      if (!known || !isAlive(head, this.#options.clock.wall())) return NO_THREAD;
      const ids = pagesFor(head, request);
      const moved =
        ids.length > 0 ? await loadPages(this.#database, threadId, known, ids, loaded) : undefined;
      // Pages of a thread that has expired meanwhile may be gone.
      if (moved === undefined && !isAlive(head, this.#options.clock.wall())) return NO_THREAD;
      if (moved === undefined) return viewOf(head, request, loaded);
      known = moved;
    }
    throw tooManyWriters();
  }

  async list(request: ListRequest): Promise<ThreadListing> {
    const { prefix, limit, signal } = request;
    const after = IdCursor.parse("listThreads", request);
    const { heads, next } = await this.#database.list({ prefix, limit, after });
    const now = this.#options.clock.wall();
    const corrupt = heads
      .filter(({ head }) => head === undefined)
      .map(({ threadId }) => ({ threadId, problem: damagedHead().message }));
    const alive = heads.flatMap(({ threadId, head }) => (isAlive(head, now) ? [{ threadId, head }] : []));
    const threads: ThreadListing["threads"][number][] = [];
    for (let index = 0; index < alive.length; index += READ_AT_ONCE) {
      signal?.throwIfAborted();
      const some = alive.slice(index, index + READ_AT_ONCE);
      const listed = await Promise.all(some.map(({ threadId, head }) => this.#listed(threadId, head)));
      threads.push(...listed.filter((thread) => thread !== undefined));
    }
    return { threads, corrupt, ...(next !== undefined && { cursor: IdCursor.format(next) }) };
  }

  async close(): Promise<void> {
    this.#memories.clear();
    await this.#database.close();
  }

  classifyError(error: unknown): ErrorClassification | undefined {
    return this.#database.classifyError(error);
  }

  async #listed(threadId: string, head: Head): Promise<ThreadListing["threads"][number] | undefined> {
    const count = SequenceBounds.countOf(head);
    if (!head.metadata || "text" in head.metadata) {
      const metadata = metadataOf(head, new Map());
      return { threadId, count, ...timesOf(head), ...(metadata !== undefined && { metadata }) };
    }
    const only = { limit: 0, before: undefined, after: undefined, metadata: true, signal: undefined };
    const view = await this.read({ threadId, ...only });
    const { metadata } = view;
    if (view.revision === null) return undefined;
    return { threadId, count: view.count, ...timesOf(view), ...(metadata !== undefined && { metadata }) };
  }

  #inTurn<Outcome>(
    { threadId, signal }: Pick<CommitRequest, "threadId" | "signal">,
    write: Pick<Write, "request" | "deletion">,
  ): Promise<Outcome> {
    const { promise, resolve, reject } = Promise.withResolvers<CommitOutcome | DeleteOutcome>();
    const sharedLength = write.request && sharedLengthOf(write.request);
    this.#turns.add(threadId, { ...write, signal, sharedLength, resolve, reject });
    return promise as Promise<Outcome>;
  }

  async #make(threadId: string, writes: readonly Write[]): Promise<void> {
    const memory = this.#memories.get(threadId) ?? new ThreadMemory();
    this.#memories.set(threadId, memory);
    const writer = new ThreadWriter(this.#database, this.#options, threadId, memory);
    const [first] = writes;
    try {
      if (first?.deletion) first.resolve(await writer.delete(first.deletion));
      else {
        const requests = writes.map(({ request }) => request).filter((request) => request !== undefined);
        const outcomes = await writer.commit(requests);
        for (const [index, write] of writes.entries()) {
          const outcome = outcomes[index];
          if (outcome) write.resolve(outcome);
          else write.reject(write.signal?.reason);
        }
      }
    } catch (error) {
      for (const write of writes) write.reject(error);
    }
  }
}

function timesOf({ createdAt, updatedAt, expiresAt }: Head | ThreadView) {
  return { createdAt, updatedAt, ...(expiresAt !== undefined && { expiresAt }) };
}

/** Appends that expect no revision can share a swap. */
function sharedLengthOf(request: CommitRequest): number | undefined {
  const { expectedRevision, drop, append, metadata, sendBefore } = request;
  // One that is sent again too late must fail alone.
  if (sendBefore !== undefined || expectedRevision !== undefined || drop !== 0 || metadata !== undefined)
    return undefined;
  return append.reduce((length, { text }) => length + text.length, 0);
}
