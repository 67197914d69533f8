/**
 * The steps of a driver of a backend with transactions: a commit, a read, a deletion and a listing, written with functions that
 * your transactions provide. See docs/reference/adapter-contract.md.
 */
import {
  type CommitOutcome,
  type CommitRequest,
  type DeleteOutcome,
  type DeleteRequest,
  expiryAfter,
  formatRevision,
  invalid,
  type ListRequest,
  type MessageRecord,
  NO_THREAD,
  planCommit,
  REMEMBERED_OPERATIONS,
  type ReadRequest,
  SequenceBounds,
  type ThreadListing,
  type ThreadView,
  type TrimSearch,
} from "@scrollback/store-core/driver";

interface Thread {
  readonly incarnation: string;
  /** How many commits this incarnation has had. */
  readonly commits: number;
  /** Which sequence numbers there are. */
  readonly bounds: SequenceBounds;
  /** What trimming knows about its messages, so that it looks at none twice. */
  readonly search: TrimSearch;
  /** What its first commit gave, and its newest. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Milliseconds since 1970; null for never. */
  readonly expiresAt: number | null;
}

interface Entry extends MessageRecord {
  readonly sequence: number;
}

/** What your backend does within a transaction. */
export interface TransactionTables {
  thread(id: string): Thread | undefined;
  setThread(id: string, thread: Thread): void;
  /** The ids that begin with `prefix` and come after `after`, in order: the first so many. */
  threadIds(prefix: string, after: string, limit: number): string[];
  /** Removes a thread and all that belongs to it. */
  removeThread(id: string): void;
  /** Which commit an operation was, and its digest. */
  operation(
    id: string,
    operationId: string,
  ): { readonly commit: number; readonly digest: string } | undefined;
  addOperation(id: string, operationId: string, operation: { commit: number; digest: string }): void;
  /** Forgets the operations of the commits up to this one. */
  forgetOperations(id: string, upTo: number): void;
  /** The kind of a message; undefined if it is missing. */
  kind(id: string, sequence: number): MessageRecord["kind"] | undefined;
  /** The messages `from` to `to - 1`, in order. */
  messages(id: string, from: number, to: number): Entry[];
  addMessage(id: string, entry: Entry): void;
  /** Removes the messages `from` to `to - 1`. */
  removeMessages(id: string, from: number, to: number): void;
  metadata(id: string): string | null;
  setMetadata(id: string, text: string | null): void;
}

function livingThread(tables: TransactionTables, id: string): Thread | undefined {
  const thread = tables.thread(id);
  return thread && (thread.expiresAt === null || thread.expiresAt > Date.now()) ? thread : undefined;
}

export function commitIn(tables: TransactionTables, request: CommitRequest): CommitOutcome {
  const { threadId: id, operationId, digest, append, metadata } = request;
  const thread = livingThread(tables, id);
  const revision = thread ? formatRevision(thread.incarnation, thread.commits) : null;
  const known = thread && tables.operation(id, operationId);
  if (thread && known) {
    return known.digest === digest
      ? { outcome: "repeated", revision: formatRevision(thread.incarnation, known.commit) }
      : { outcome: "operation-conflict", revision };
  }
  if (request.expectedRevision !== undefined && request.expectedRevision !== revision) {
    return { outcome: "revision-conflict", revision };
  }
  if (!thread) tables.removeThread(id);

  const before = thread?.bounds ?? SequenceBounds.EMPTY;
  const kindAt = (sequence: number) => tables.kind(id, sequence);
  const { kept, bounds, removed, search } = planCommit(before, request, request, kindAt, thread?.search);
  for (const { from, to } of removed) tables.removeMessages(id, from, to);
  append.forEach((message, index) => {
    const sequence = kept.next + index;
    // A batch may be longer than what is kept of it.
    if (SequenceBounds.isWithin(bounds, sequence)) tables.addMessage(id, { sequence, ...message });
  });
  if (metadata !== undefined) tables.setMetadata(id, metadata);

  const incarnation = thread?.incarnation ?? request.newIncarnation;
  const commits = (thread?.commits ?? 0) + 1;
  tables.setThread(id, {
    incarnation,
    commits,
    bounds,
    search,
    createdAt: thread?.createdAt ?? request.createdAt,
    updatedAt: request.updatedAt,
    expiresAt: expiryAfter(request, Date.now()) ?? null,
  });
  tables.addOperation(id, operationId, { commit: commits, digest });
  tables.forgetOperations(id, commits - REMEMBERED_OPERATIONS);
  return { outcome: "committed", revision: formatRevision(incarnation, commits) };
}

export function readIn(tables: TransactionTables, request: ReadRequest): ThreadView {
  const { threadId: id } = request;
  const thread = livingThread(tables, id);
  if (!thread) return NO_THREAD;
  const selected = SequenceBounds.selectRange(thread.bounds, request);
  const pinned = SequenceBounds.pinnedOf(selected).flatMap((sequence) =>
    tables.messages(id, sequence, sequence + 1),
  );
  const metadata = request.metadata ? tables.metadata(id) : null;
  return {
    revision: formatRevision(thread.incarnation, thread.commits),
    count: SequenceBounds.countOf(thread.bounds),
    first: SequenceBounds.firstOf(thread.bounds),
    last: SequenceBounds.lastOf(thread.bounds),
    newestCompaction: thread.search.newestCompaction,
    entries: [...pinned, ...tables.messages(id, selected.first, selected.next)],
    ...timesOf(thread),
    ...(metadata !== null && { metadata }),
  };
}

function timesOf({ createdAt, updatedAt, expiresAt }: Thread) {
  return { createdAt, updatedAt, ...(expiresAt !== null && { expiresAt }) };
}

export function deleteIn(tables: TransactionTables, request: DeleteRequest): DeleteOutcome {
  const { threadId: id, expectedRevision } = request;
  const thread = livingThread(tables, id);
  const revision = thread ? formatRevision(thread.incarnation, thread.commits) : null;
  if (expectedRevision !== undefined && expectedRevision !== revision) {
    return { outcome: "revision-conflict", revision };
  }
  // Also what an expired thread left behind.
  tables.removeThread(id);
  return { outcome: "deleted" };
}

const CURSOR = "threads:";

export function listIn(
  tables: TransactionTables,
  { prefix, limit, cursor = CURSOR }: ListRequest,
): ThreadListing {
  if (!/^threads:[\w-]*$/.test(cursor)) invalid("listThreads: cursor must be one that listThreads() gave");
  const after = Buffer.from(cursor.slice(CURSOR.length), "base64url").toString();
  const ids = tables.threadIds(prefix, after, limit);
  const threads = ids.flatMap((threadId) => {
    const thread = livingThread(tables, threadId);
    const metadata = tables.metadata(threadId) ?? undefined;
    return thread
      ? [{ threadId, count: SequenceBounds.countOf(thread.bounds), ...timesOf(thread), metadata }]
      : [];
  });
  const last = ids.length < limit ? undefined : ids.at(-1);
  return { threads, ...(last && { cursor: CURSOR + Buffer.from(last).toString("base64url") }) };
}
