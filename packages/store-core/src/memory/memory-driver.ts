import { byteLength } from "#runtime";
import { invalid } from "../arguments.ts";
import { type Clock, systemClock } from "../clock.ts";
import { type MessageRecord, MISSING_MESSAGE, type ThreadEntry } from "../codec/record.ts";
import {
  type CommitOutcome,
  type CommitRequest,
  type DeleteOutcome,
  type DeleteRequest,
  type Driver,
  type DriverCapabilities,
  type ListedThread,
  type ListRequest,
  MAX_VALUE_BYTES,
  NO_THREAD,
  REMEMBERED_MS,
  REMEMBERED_OPERATIONS,
  type ReadRequest,
  type ThreadListing,
  type ThreadSnapshot,
  type ThreadView,
} from "../driver/driver.ts";
import type { EntryIndex } from "../driver/entry-index.ts";
import { formatRevision, newIncarnation } from "../driver/revision.ts";
import { SequenceBounds } from "../trimming/bounds.ts";
import { NOT_SEARCHED, planCommit, type TrimSearch } from "../trimming/trimming.ts";
import { MemoryIndex } from "./memory-index.ts";
import { MemoryWatches } from "./memory-watches.ts";

interface Thread {
  incarnation: string;
  commits: number;
  bounds: SequenceBounds;
  search: TrimSearch;
  /** By sequence number. */
  messages: Map<number, MessageRecord>;
  metadata: string | undefined;
  createdAt: number;
  updatedAt: number;
  expiresAt: number | undefined;
  operations: Operations;
  /** The position in listings. */
  readonly serial: number;
}

/** By operation id, oldest first. */
type Operations = Map<string, { digest: string; revision: string; at: number }>;

/** The operation ids of a deleted thread, kept for {@link REMEMBERED_MS}. */
interface Deleted {
  readonly operations: Operations;
  /** The times of its deletions, by operation id. */
  readonly deletions: Map<string, number>;
  at: number;
}

const capabilities: DriverCapabilities = Object.freeze({
  backend: "memory",
  maxMessageBytes: 16 * 1024 ** 2,
  maxCommitBytes: 64 * 1024 ** 2,
  maxCommitMessages: Number.MAX_SAFE_INTEGER,
  sharing: "driver",
  expiry: true,
  trimmedWithinCommits: 0,
  deletedWithinMs: REMEMBERED_MS,
  index: Object.freeze({
    maxValueBytes: MAX_VALUE_BYTES,
    vectors: Object.freeze({ maxDimensions: 16_000 }),
  }),
  roundTrips: Object.freeze({ commit: 0, read: 0 }),
});

/**
 * The reference driver. It stores threads in this object only. A commit is atomic because it never awaits. An expired
 * thread is removed when it is accessed; all expired threads are removed whenever the number of threads has doubled.
 */
export class MemoryDriver implements Driver {
  readonly capabilities: DriverCapabilities = capabilities;
  readonly index: EntryIndex;
  readonly #watches = new MemoryWatches();
  readonly watch: Driver["watch"] = this.#watches.watch;
  readonly #threads = new Map<string, Thread>();
  /** In the order of their deletion. */
  readonly #deleted = new Map<string, Deleted>();
  #serial = 0;
  readonly #clock: Pick<Clock, "wall">;
  #sweepAt = 1_000;

  /** @param options `clock`: the clock of expiry, for tests. Default: the system clock. */
  constructor({ clock = systemClock }: { readonly clock?: Pick<Clock, "wall"> } = {}) {
    this.#clock = clock;
    this.index = new MemoryIndex(clock);
  }

  async commit(request: CommitRequest): Promise<CommitOutcome> {
    const found = this.#find(request.threadId);
    const revision = found ? formatRevision(found.incarnation, found.commits) : null;
    const known =
      found?.operations.get(request.operationId) ??
      this.#deletedNow(request.threadId)?.operations.get(request.operationId);
    if (known) {
      return known.digest === request.digest
        ? { outcome: "repeated", revision: known.revision }
        : { outcome: "operation-conflict", revision };
    }
    if (request.expectedRevision !== undefined && request.expectedRevision !== revision) {
      return { outcome: "revision-conflict", revision };
    }
    const thread = found ?? this.#create(request.threadId, request.newIncarnation, request.createdAt);
    const committed = apply(thread, request, this.#clock.wall());
    this.#watches.hint(request.threadId);
    return { outcome: "committed", revision: committed };
  }

  async read(request: ReadRequest): Promise<ThreadView> {
    const thread = this.#find(request.threadId);
    if (!thread) return NO_THREAD;
    const { bounds, messages, metadata } = thread;
    const wanted = SequenceBounds.selectRange(bounds, request);
    const entries: ThreadEntry[] = [];
    const take = (sequence: number) =>
      entries.push({ sequence, ...(messages.get(sequence) ?? MISSING_MESSAGE) });
    for (const sequence of SequenceBounds.pinnedOf(wanted)) take(sequence);
    for (let sequence = wanted.first; sequence < wanted.next; sequence++) take(sequence);
    return {
      revision: formatRevision(thread.incarnation, thread.commits),
      count: SequenceBounds.countOf(bounds),
      first: SequenceBounds.firstOf(bounds),
      last: SequenceBounds.lastOf(bounds),
      newestCompaction: thread.search.newestCompaction,
      entries,
      ...timesOf(thread),
      ...(request.metadata && metadata !== undefined && { metadata }),
    };
  }

  async delete(request: DeleteRequest): Promise<DeleteOutcome> {
    const { threadId, operationId, expectedRevision } = request;
    const deleted = this.#deletedNow(threadId) ?? { operations: new Map(), deletions: new Map(), at: 0 };
    if (deleted.deletions.has(operationId)) return { outcome: "repeated" };
    const thread = this.#find(threadId);
    const revision = thread ? formatRevision(thread.incarnation, thread.commits) : null;
    if (expectedRevision !== undefined && expectedRevision !== revision)
      return { outcome: "revision-conflict", revision };
    const now = this.#clock.wall();
    forgetBefore(now - REMEMBERED_MS, deleted);
    for (const [id, operation] of thread?.operations ?? [])
      deleted.operations.set(id, { ...operation, at: now });
    deleted.deletions.set(operationId, now);
    deleted.at = now;
    this.#threads.delete(threadId);
    this.#deleted.delete(threadId);
    this.#deleted.set(threadId, deleted);
    this.#watches.hint(threadId);
    return { outcome: "deleted" };
  }

  async list({ prefix, limit, cursor, sizes }: ListRequest): Promise<ThreadListing> {
    if (cursor !== undefined && !/^\d{1,15}$/.test(cursor))
      invalid("listThreads: cursor must be one that listThreads() gave");
    const now = this.#clock.wall();
    const threads: ListedThread[] = [];
    let last = Number(cursor ?? 0);
    for (const [threadId, thread] of this.#threads) {
      if (thread.serial <= last || !threadId.startsWith(prefix) || isExpired(thread, now)) continue;
      if (threads.length === limit) return { threads, cursor: String(last) };
      const { bounds, messages, metadata, serial } = thread;
      const texts = [metadata ?? "", ...[...messages.values()].map(({ text }) => text)];
      threads.push({
        threadId,
        count: SequenceBounds.countOf(bounds),
        ...timesOf(thread),
        ...(metadata !== undefined && { metadata }),
        ...(sizes && { bytes: texts.reduce((sum, text) => sum + byteLength(text), 0) }),
      });
      last = serial;
    }
    return { threads };
  }

  async close(): Promise<void> {
    this.#threads.clear();
    this.#deleted.clear();
    this.#watches.close();
  }

  classifyError(): undefined {
    return undefined;
  }

  exportThread(threadId: string): ThreadSnapshot | undefined {
    const thread = this.#find(threadId);
    if (!thread) return undefined;
    const { messages, metadata } = thread;
    return {
      // Copies, which the caller may change.
      messages: Array.from(messages.values(), (message) => ({ ...message })),
      ...(metadata !== undefined && { metadata }),
      ...timesOf(thread),
    };
  }

  importThread(threadId: string, snapshot: ThreadSnapshot): void {
    if (this.#find(threadId)) return;
    const thread = this.#create(threadId, newIncarnation(), snapshot.createdAt);
    thread.commits = 1;
    thread.bounds = { ...SequenceBounds.EMPTY, next: 1 + snapshot.messages.length };
    const newest = snapshot.messages.findLastIndex(({ kind }) => kind === "k");
    thread.search = { ...NOT_SEARCHED, newestCompaction: newest + 1 };
    snapshot.messages.forEach(({ kind, createdAt, text }, index) => {
      thread.messages.set(index + 1, { kind, createdAt, text });
    });
    thread.metadata = snapshot.metadata;
    thread.updatedAt = snapshot.updatedAt;
    thread.expiresAt = snapshot.expiresAt;
  }

  #find(threadId: string): Thread | undefined {
    const thread = this.#threads.get(threadId);
    if (!thread || !isExpired(thread, this.#clock.wall())) return thread;
    this.#threads.delete(threadId);
    return undefined;
  }

  /** The operation ids that are still remembered of a deleted thread. Removes the expired entries of other threads. */
  #deletedNow(threadId: string): Deleted | undefined {
    const due = this.#clock.wall() - REMEMBERED_MS;
    for (const [id, { at }] of this.#deleted) {
      if (at > due) break;
      this.#deleted.delete(id);
    }
    return this.#deleted.get(threadId);
  }

  #create(threadId: string, incarnation: string, createdAt: number): Thread {
    if (this.#threads.size >= this.#sweepAt) this.#sweep();
    this.#serial += 1;
    const thread: Thread = {
      incarnation,
      commits: 0,
      bounds: SequenceBounds.EMPTY,
      search: NOT_SEARCHED,
      messages: new Map(),
      metadata: undefined,
      createdAt,
      updatedAt: createdAt,
      expiresAt: undefined,
      operations: new Map(),
      serial: this.#serial,
    };
    this.#threads.set(threadId, thread);
    return thread;
  }

  #sweep(): void {
    const now = this.#clock.wall();
    for (const [threadId, thread] of this.#threads)
      if (isExpired(thread, now)) this.#threads.delete(threadId);
    this.#sweepAt = Math.max(1_000, this.#threads.size * 2);
  }
}

/** Removes the expired entries of a thread that is deleted repeatedly. */
function forgetBefore(due: number, { operations, deletions }: Deleted): void {
  for (const [id, { at }] of operations) if (at <= due) operations.delete(id);
  for (const [id, at] of deletions) if (at <= due) deletions.delete(id);
}

function timesOf({ createdAt, updatedAt, expiresAt }: Thread) {
  return { createdAt, updatedAt, ...(expiresAt !== undefined && { expiresAt }) };
}

function isExpired(thread: Thread, now: number): boolean {
  return thread.expiresAt !== undefined && thread.expiresAt <= now;
}

function apply(thread: Thread, request: CommitRequest, at: number): string {
  const { messages, operations } = thread;
  const kindAt = (sequence: number) => messages.get(sequence)?.kind;
  const plan = planCommit(thread.bounds, request, request, kindAt, thread.search);
  for (const { from, to } of plan.removed) {
    for (let sequence = from; sequence < to; sequence++) messages.delete(sequence);
  }
  request.append.forEach((message, index) => {
    const sequence = plan.kept.next + index;
    if (SequenceBounds.isWithin(plan.bounds, sequence)) messages.set(sequence, message);
  });
  thread.bounds = plan.bounds;
  thread.search = plan.search;
  if (request.metadata !== undefined) thread.metadata = request.metadata ?? undefined;
  thread.expiresAt = request.ttlMs === undefined ? undefined : at + request.ttlMs;
  thread.updatedAt = request.updatedAt;
  thread.commits += 1;
  const revision = formatRevision(thread.incarnation, thread.commits);
  operations.set(request.operationId, { digest: request.digest, revision, at });
  for (const [oldest, operation] of operations) {
    if (operations.size <= REMEMBERED_OPERATIONS || operation.at > at - REMEMBERED_MS) break;
    operations.delete(oldest);
  }
  return revision;
}
