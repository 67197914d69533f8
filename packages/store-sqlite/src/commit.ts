import {
  type CommitOutcome,
  type CommitRequest,
  formatRevision,
  planCommit,
  REMEMBERED_OPERATIONS,
  SequenceBounds,
} from "@scrollback/store-core/driver";
import { detachThread, sweep } from "./remove.ts";
import { liveThread, type Statements, type ThreadRow, toStored } from "./statements.ts";

/** A commit sweeps this number of an expired thread's messages, plus the number that it appends, so that sweeping keeps up. */
const SWEPT_MESSAGES = 100;

/** The rows of forgotten commits are removed at every 16th commit. */
const FORGET_EVERY = 16;

/**
 * Makes the commit of a request. Must run in a write transaction.
 *
 * @param isNew whether no commit can have the operation id, so that it is not looked up.
 */
export function commitThread(statements: Statements, request: CommitRequest, isNew: boolean): CommitOutcome {
  const now = Date.now();
  const { found, expired } = statements.findBoth(toStored(request.threadId), now);
  const thread = liveThread(found, now);
  const revision = thread ? formatRevision(thread.incarnation, thread.number) : null;
  if (thread && !isNew) {
    const known = statements.findOperation(thread.key, request.operationId);
    if (known) {
      return known.digest === request.digest
        ? { outcome: "repeated", revision: formatRevision(thread.incarnation, known.number) }
        : { outcome: "operation-conflict", revision };
    }
  }
  if (request.expectedRevision !== undefined && request.expectedRevision !== revision) {
    return { outcome: "revision-conflict", revision };
  }
  if (found && !thread) detachThread(statements, found.key);
  const committed = apply(statements, thread, request, now);
  if (expired !== undefined) sweep(statements, expired, SWEPT_MESSAGES + request.append.length);
  return { outcome: "committed", revision: committed };
}

function apply(
  statements: Statements,
  thread: ThreadRow | undefined,
  request: CommitRequest,
  now: number,
): string {
  const { append, metadata, operationId, digest, ttlMs, updatedAt } = request;
  const before: SequenceBounds = thread ?? SequenceBounds.EMPTY;
  const incarnation = thread?.incarnation ?? request.newIncarnation;
  const number = (thread?.number ?? 0) + 1;
  const expiresAt = ttlMs === undefined ? null : Math.min(now + ttlMs, Number.MAX_SAFE_INTEGER);
  const key = thread?.key ?? insertThread(statements, request, expiresAt);
  if (thread && expiresAt !== thread.expiresAt) statements.setExpiry(expiresAt, key);

  const kindAt = (sequence: number) => statements.kindOf(key, sequence);
  const { kept, bounds, removed, search } = planCommit(before, request, request, kindAt, thread);
  for (const { from, to } of removed) statements.deleteMessages(key, from, to);
  for (const [index, { kind, createdAt, text }] of append.entries()) {
    const sequence = kept.next + index;
    if (removed.length === 0 || SequenceBounds.isWithin(bounds, sequence))
      statements.insertMessage(key, sequence, kind, createdAt, toStored(text));
  }

  if (metadata === null) statements.deleteMetadata(key);
  else if (metadata !== undefined) statements.setMetadata(key, toStored(metadata));

  const { pinned, compaction, first, next } = bounds;
  const { userless, startless, newestCompaction } = search;
  statements.insertCommit(
    key,
    number,
    operationId,
    digest,
    updatedAt,
    pinned,
    compaction,
    first,
    next,
    userless,
    startless,
    newestCompaction,
  );
  if (number % FORGET_EVERY === 0) statements.deleteCommits(key, number - REMEMBERED_OPERATIONS);
  return formatRevision(incarnation, number);
}

/** Inserts the row of a new thread. Returns its key. */
function insertThread(
  statements: Statements,
  { threadId, newIncarnation, createdAt }: CommitRequest,
  expiresAt: number | null,
): number {
  return Number(statements.insertThread(toStored(threadId), newIncarnation, createdAt, expiresAt)?.[0]);
}
