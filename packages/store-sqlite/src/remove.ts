import type { SQLOutputValue } from "node:sqlite";
import { type DeleteOutcome, type DeleteRequest, formatRevision } from "@scrollback/store-core/driver";
import { liveThread, type Statements } from "./statements.ts";
import { otherForm, REPLACEMENT, rowsByPrefix, shownId, toStored } from "./text.ts";

interface IdRow {
  readonly id: SQLOutputValue;
  readonly key: bigint;
}

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
  const damaged = found || expectedRevision !== undefined ? [] : keysShownAs(statements, threadId);
  for (const key of found ? [found.key] : damaged) {
    detachThread(statements, key);
    sweepThread(statements, key, messages);
  }
  return { outcome: "deleted" };
}

/** The keys of threads with damaged ids, which a listing shows as this id. No thread may have it. */
function keysShownAs(statements: Statements, threadId: string): bigint[] {
  const found = statements.findKey(otherForm(threadId));
  if (found) return [found.key];
  if (!threadId.includes(REPLACEMENT)) return [];
  const [prefix = ""] = threadId.split(REPLACEMENT, 1);
  const rows = rowsByPrefix<IdRow>(
    { prefix, after: undefined, limit: Number.MAX_SAFE_INTEGER },
    (row) => row.id,
    (from, except, most) => statements.selectIds.all(from, except, most) as unknown as IdRow[],
  );
  return rows.filter((row) => shownId(row.id) === threadId).map(({ key }) => key);
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
export function sweep(statements: Statements, key: bigint, messages: number): void {
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
  statements.deleteAllMessages(key);
  statements.deleteAllCommits(key);
  statements.deleteMetadata(key);
}
