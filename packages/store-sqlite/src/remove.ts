import { type DeleteOutcome, type DeleteRequest, formatRevision } from "@scrollback/store-core";
import { liveThread, type Statements } from "./statements.ts";
import { toStored } from "./text.ts";

/** The bounds of SQLite's integers. A damaged row may have any. */
const [LEAST_INTEGER, GREATEST_INTEGER] = [-(2n ** 63n), 2n ** 63n - 1n];

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
  const found = statements.findKey(id);
  if (found) {
    detachThread(statements, found.key);
    sweepThread(statements, found.key, messages);
  }
  return { outcome: "deleted" };
}

/** Marks a thread for removal and frees its id. */
export function detachThread(statements: Statements, key: number | bigint): void {
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
function sweepThread(statements: Statements, key: number | bigint, messages: number): boolean {
  if (statements.deleteOldestMessages.run(key, key, messages).changes !== 0) return true;
  removeRows(statements, key);
  statements.deleteThread(key);
  return false;
}

/** Removes all rows under a key, except the thread's own. */
export function removeRows(statements: Statements, key: number | bigint): void {
  statements.deleteMessages(key, LEAST_INTEGER, GREATEST_INTEGER);
  statements.deleteCommits(key, GREATEST_INTEGER);
  statements.deleteMetadata(key);
}
