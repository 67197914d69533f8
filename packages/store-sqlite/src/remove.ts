import { type DeleteOutcome, type DeleteRequest, formatRevision } from "@scrollback/store-core/driver";
import { liveThread, type Statements, toStored } from "./statements.ts";

/**
 * Deletes the thread of a request, readable or not, or the rows that it left when it expired, with at most `messages` messages. Must run in a
 * write transaction. The rest of a longer thread stays under an id that no thread can have, for {@link sweepExpired}.
 */
export function deleteThread(
  statements: Statements,
  { threadId, expectedRevision }: DeleteRequest,
  messages: number,
): DeleteOutcome {
  const id = toStored(threadId);
  if (expectedRevision !== undefined) {
    const thread = liveThread(statements.findThread(id), Date.now());
    const revision = thread ? formatRevision(thread.incarnation, thread.number) : null;
    if (expectedRevision !== revision) return { outcome: "revision-conflict", revision };
  }
  const key = statements.findKey(id);
  if (key !== undefined) {
    detachThread(statements, key);
    sweepThread(statements, key, messages);
  }
  return { outcome: "deleted" };
}

/** Marks a thread for removal and frees its id. */
export function detachThread(statements: Statements, key: number): void {
  // Longer than any id that a thread can have.
  statements.detachThread(String(key).padStart(1_025, "0"), key);
}

/**
 * Removes at most `messages` messages of one expired thread, and the thread itself with its last message. Must run in a
 * write transaction. Returns whether a thread had expired by `now`. If `now` is 0, only threads count that were deleted,
 * written again after their expiry, or removed in part.
 */
export function sweepExpired(statements: Statements, now: number, messages: number): boolean {
  const expired = statements.findExpired(now);
  if (expired === undefined) return false;
  sweep(statements, expired, messages);
  return true;
}

/** Removes at most `messages` messages of an expired thread, and the thread itself with its last message. */
export function sweep(statements: Statements, key: number, messages: number): void {
  // The thread must stay expired if the clock goes back, because some of its messages are removed.
  if (sweepThread(statements, key, messages)) statements.setExpiry(0, key);
}

/** Returns whether messages are left. If none are left, the thread is removed. */
function sweepThread(statements: Statements, key: number, messages: number): boolean {
  const last = statements.findOldest(key, messages);
  if (last !== undefined) {
    statements.deleteMessages(key, 0, last + 1);
    return true;
  }
  statements.deleteAllMessages(key);
  statements.deleteAllCommits(key);
  statements.deleteMetadata(key);
  statements.deleteThread(key);
  return false;
}
