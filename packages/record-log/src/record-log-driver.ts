import { StoreError } from "@scrollback/store-core";
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
  type ListRequest,
  MAX_VALUE_BYTES,
  type ReadRequest,
  type ThreadListing,
  type ThreadView,
} from "@scrollback/store-core/driver";
import { type Clock, systemClock } from "@scrollback/store-core/internal";
import { LRUCache } from "lru-cache";
import { type PageHint, readThread } from "./chain/read.ts";
import type { RecordLog } from "./record-log.ts";
import { DELETED_MS } from "./rows/expiry.ts";
import { MAX_TEXTS } from "./rows/field-types.ts";
import { maxCommitBytes, maxTexts } from "./rows/fragments.ts";
import { type Operation, Operations } from "./write/attempts.ts";
import { COLLECT_EVERY } from "./write/collect.ts";
import { Contention } from "./write/contention.ts";
import { deleteThread } from "./write/delete-thread.ts";
import { type RowLimits, takeNext, type WaitingWrite, type WriteRow } from "./write/group.ts";
import { CommitWriter, type StreamMemory } from "./write/write.ts";

/** The number of threads whose newest rows a driver caches. */
const CACHE_SIZE = 1_000;

/** The number of threads of a listing that are read at once. */
const READ_AT_ONCE = 8;

/** The options of {@link RecordLogDriver}. */
export interface RecordLogDriverOptions {
  /** The clocks of the driver, for tests. Default: the system clocks. */
  readonly clock?: Clock;
}

/**
 * Makes a {@link Driver} of a {@link RecordLog}. A thread is a log of rows; a commit is one insert of the next row. The first
 * insert wins. Other writers read the winning row and retry with the next number.
 *
 * Writes of one driver to one thread are made one after the other. Appends that wait for their turn share a row if they expect no
 * revision: up to 32 commits are then one insert, each with its own revision. Any other write has a row of its own.
 *
 * In the steady state a commit is one insert, plus one amendment at every 32nd commit of a thread that trims or drops. A read of
 * the newest messages is one range read. A commit with a cold cache costs at most two more reads. The driver caches the state of
 * 1,000 threads.
 */
export class RecordLogDriver implements Driver {
  readonly capabilities: DriverCapabilities;
  readonly target: DriverTarget | undefined;
  readonly index: EntryIndex | undefined;
  readonly #log: RecordLog;
  readonly #clock: Clock;
  readonly #memories = new LRUCache<string, StreamMemory>({ max: CACHE_SIZE });
  readonly #pages = new LRUCache<string, PageHint>({ max: CACHE_SIZE });
  readonly #operations = new Operations();
  /** Writes of one process to one thread queue up instead of competing: those that wait while one is under way. */
  readonly #queues = new Map<string, WaitingWrite[]>();
  readonly #rowLimits: RowLimits;
  readonly #writeRow: WriteRow = (request, operation, earlier) => {
    const memory = this.#memoryOf(request.threadId);
    return new CommitWriter(this.#log, this.#clock, request, memory, operation, earlier).commit();
  };

  constructor(log: RecordLog, { clock = systemClock }: RecordLogDriverOptions = {}) {
    this.#log = log;
    this.#clock = clock;
    const { backend, sharing, roundTrips, maxRowBytes } = log.capabilities;
    this.capabilities = Object.freeze({
      backend,
      sharing,
      roundTrips,
      maxMessageBytes: 16 * 1024 ** 2,
      maxCommitBytes: maxCommitBytes(maxRowBytes, 64 * 1024 ** 2),
      maxCommitMessages: maxTexts(maxRowBytes, MAX_TEXTS),
      expiry: true,
      trimmedWithinCommits: 2 * COLLECT_EVERY,
      deletedWithinMs: DELETED_MS,
      ...(log.index && { index: Object.freeze({ maxValueBytes: MAX_VALUE_BYTES }) }),
    });
    this.index = log.index;
    this.#rowLimits = { maxRowBytes, maxCommitMessages: this.capabilities.maxCommitMessages };
    this.target = log.target;
    const { setup } = log;
    if (setup) this.setup = () => setup.call(log);
  }

  setup?: () => Promise<void>;

  commit(request: CommitRequest): Promise<CommitOutcome> {
    return this.#inTurn(
      request,
      (operation, shared) => shared ?? this.#writeRow(request, operation),
      request,
    );
  }

  delete(request: DeleteRequest): Promise<DeleteOutcome> {
    return this.#inTurn(request, async ({ closings }) => {
      this.#memories.delete(request.threadId);
      this.#pages.delete(request.threadId);
      return await deleteThread(this.#log, this.#clock, request, closings);
    });
  }

  async list({ prefix, limit, cursor, signal }: ListRequest): Promise<ThreadListing> {
    const { streams, next } = await this.#log.streams({ prefix, limit, after: cursor });
    const threads: ThreadListing["threads"][number][] = [];
    const corrupt: NonNullable<ThreadListing["corrupt"]>[number][] = [];
    const request = { limit: 0, before: undefined, after: undefined, metadata: true, signal };
    for (let index = 0; index < streams.length; index += READ_AT_ONCE) {
      signal?.throwIfAborted();
      const some = streams.slice(index, index + READ_AT_ONCE);
      await Promise.all(
        some.map(async (threadId) => {
          try {
            const view = await this.read({ threadId, ...request });
            const { revision, count, createdAt, updatedAt, expiresAt, metadata } = view;
            if (revision !== null)
              threads.push({ threadId, count, createdAt, updatedAt, expiresAt, metadata });
          } catch (error) {
            if (!StoreError.is(error, "CORRUPT")) throw error;
            corrupt.push({ threadId, problem: error.message });
          }
        }),
      );
    }
    return { threads, cursor: next, corrupt };
  }

  async read(request: ReadRequest): Promise<ThreadView> {
    const { threadId } = request;
    const hints = { end: this.#memories.peek(threadId)?.chain?.end, page: this.#pages.get(threadId) };
    const { view, page } = await readThread(this.#log, threadId, request, this.#clock, hints);
    if (page) this.#pages.set(threadId, page);
    return view;
  }

  #memoryOf(threadId: string): StreamMemory {
    const known = this.#memories.get(threadId);
    if (known) return known;
    const memory = { chain: undefined, contention: new Contention() };
    this.#memories.set(threadId, memory);
    return memory;
  }

  /**
   * Writes of one process to one thread, one after the other.
   *
   * @param commit the request of a commit, which may share a row with others.
   */
  async #inTurn<Outcome extends { readonly outcome: string }>(
    { threadId, operationId, signal }: Pick<CommitRequest, "threadId" | "operationId" | "signal">,
    run: (operation: Operation, shared: Promise<CommitOutcome> | undefined) => Promise<Outcome>,
    commit?: CommitRequest,
  ): Promise<Outcome> {
    const key = `${operationId.length}/${operationId}/${threadId}`;
    const operation = this.#operations.begin(key, this.#clock.monotonic());
    let isOutcomeKnown = false;
    const waiting = this.#queues.get(threadId);
    let write: Promise<Outcome>;
    if (waiting) {
      const turn = Promise.withResolvers<Outcome>();
      waiting.push({
        request: commit,
        operation,
        signal,
        begin(shared) {
          const begun = run(operation, shared);
          turn.resolve(begun);
          return begun;
        },
        refuse: turn.reject,
      });
      write = turn.promise;
    } else {
      write = run(operation, undefined);
      this.#continueAfter(write, signal, threadId, []);
    }
    try {
      const result = await write;
      // A conflict does not show the outcome of an earlier attempt, and a caller that aborted may repeat the call.
      isOutcomeKnown = !result.outcome.endsWith("-conflict") && !signal?.aborted;
      return result;
    } finally {
      this.#operations.end(key, this.#clock.monotonic(), isOutcomeKnown);
    }
  }

  /** Begins the next write when one ends, or when its caller no longer waits: it must not delay the next one. */
  #continueAfter(
    write: Promise<unknown>,
    signal: AbortSignal | undefined,
    threadId: string,
    waiting: WaitingWrite[],
  ): void {
    let isOver = false;
    const next = () => {
      if (isOver) return;
      isOver = true;
      signal?.removeEventListener("abort", next);
      this.#beginNext(threadId, waiting);
    };
    this.#queues.set(threadId, waiting);
    if (signal?.aborted) next();
    else signal?.addEventListener("abort", next);
    write.then(next, next);
  }

  #beginNext(threadId: string, waiting: WaitingWrite[]): void {
    const next = takeNext(waiting, this.#rowLimits, this.#writeRow);
    if (next) this.#continueAfter(next.begin(), next.signal, threadId, waiting);
    else this.#queues.delete(threadId);
  }

  async close(): Promise<void> {
    this.#memories.clear();
    this.#pages.clear();
    this.#operations.clear();
    await this.#log.close();
  }

  classifyError(error: unknown): ErrorClassification | undefined {
    return this.#log.classifyError(error);
  }
}
