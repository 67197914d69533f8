import {
  type CommitOutcome,
  type CommitRequest,
  EMPTY_EXTENT,
  type Extent,
  formatRevision,
  isWithin,
  kindOfRecord,
  planCommit,
  REMEMBERED_OPERATIONS,
  rangesOutside,
} from "@scrollback/store-core";
import { isExpired, type OperationRow, type Statements, type ThreadRow } from "./statements.ts";
import { fromStored, toStored } from "./text.ts";

/** A commit sweeps so many messages of an expired thread, and as many more as it appends, so that sweeping keeps up. */
const SWEPT_MESSAGES = 100;

/** The rows of commits that are remembered no more are removed so many at a time. */
const FORGET_EVERY = 16;

/**
 * Makes the commit of a request; to be run in a write transaction.
 *
 * @param isNew that no commit can have the operation id, so that it need not be looked up.
 */
export function commitThread(statements: Statements, request: CommitRequest, isNew: boolean): CommitOutcome {
  const now = Date.now();
  const found = statements.findThread.get(request.threadId) as ThreadRow | undefined;
  const thread = found && !isExpired(found, now) ? found : undefined;
  const revision = thread ? formatRevision(thread.epoch, thread.number) : null;
  if (thread && !isNew) {
    const known = statements.findOperation.get(thread.key, request.operationId) as OperationRow | undefined;
    if (known) {
      return known.digest === request.digest
        ? { outcome: "repeated", revision: formatRevision(thread.epoch, known.number) }
        : { outcome: "operation-conflict", revision };
    }
  }
  if (request.expectedRevision !== undefined && request.expectedRevision !== revision) {
    return { outcome: "revision-conflict", revision };
  }
  if (found && !thread) statements.detachThread.run(detachedId(found.key), found.key);
  const committed = apply(statements, thread, request, now);
  sweepExpired(statements, now, SWEPT_MESSAGES + request.append.length);
  return { outcome: "committed", revision: committed };
}

function apply(
  statements: Statements,
  thread: ThreadRow | undefined,
  request: CommitRequest,
  now: number,
): string {
  const { append, metadata, operationId, digest } = request;
  const before: Extent = thread ?? EMPTY_EXTENT;
  const epoch = thread?.epoch ?? request.newEpoch;
  const number = (thread?.number ?? 0) + 1;
  const key = writeExpiry(statements, thread, request, now);

  const plan = planCommit(before, request, request, (sequence, kept) =>
    kindOfRecord(
      append[sequence - kept.next] ?? fromStored(statements.headOfMessage.get(key, sequence)?.head),
    ),
  );
  for (const { from, to } of [
    ...rangesOutside(before, plan.kept),
    ...rangesOutside(plan.kept, plan.extent),
  ]) {
    statements.deleteMessages.run(key, from, to);
  }
  for (const [index, record] of append.entries()) {
    const sequence = plan.kept.next + index;
    if (isWithin(plan.extent, sequence)) statements.insertMessage.run(key, sequence, toStored(record));
  }

  if (metadata === null) statements.deleteMetadata.run(key);
  else if (metadata !== undefined) statements.setMetadata.run(key, toStored(metadata));

  const { pinned, first, next } = plan.extent;
  statements.insertCommit.run(key, number, operationId, digest, pinned, first, next);
  if (number % FORGET_EVERY === 0) statements.deleteCommits.run(key, number - REMEMBERED_OPERATIONS);
  return formatRevision(epoch, number);
}

/** Makes the row of a new thread, or moves the expiry of the one there is. Returns its key. */
function writeExpiry(
  statements: Statements,
  thread: ThreadRow | undefined,
  { threadId, newEpoch, ttlMs }: CommitRequest,
  now: number,
): number {
  const expiresAt = ttlMs === undefined ? null : Math.min(now + ttlMs, Number.MAX_SAFE_INTEGER);
  if (!thread) return Number(statements.insertThread.run(threadId, newEpoch, expiresAt).lastInsertRowid);
  if (expiresAt !== thread.expiresAt) statements.setExpiry.run(expiresAt, thread.key);
  return thread.key;
}

/** The id of a thread that waits to be removed beside its successor: longer than any that a thread can have. */
function detachedId(key: number): string {
  return String(key).padStart(1_025, "0");
}

/**
 * Removes at most so many messages of the thread that expired first, and with the last of them the thread; to be run in a
 * write transaction. Returns whether any had expired by `now`. With 0 those count that were written to again or are removed
 * in part.
 */
export function sweepExpired(statements: Statements, now: number, messages: number): boolean {
  const expired = statements.findExpired.get(now);
  if (!expired) return false;
  const key = Number(expired.key);
  const isLeft = statements.deleteOldestMessages.run(key, key, messages).changes !== 0;
  // With 0 it stays expired, should the clock go back: some of its messages are gone.
  if (isLeft) statements.setExpiry.run(0, key);
  else removeThread(statements, key);
  return true;
}

function removeThread(statements: Statements, key: number): void {
  statements.deleteMessages.run(key, 0, Number.MAX_SAFE_INTEGER);
  statements.deleteCommits.run(key, Number.MAX_SAFE_INTEGER);
  statements.deleteMetadata.run(key);
  statements.deleteThread.run(key);
}
