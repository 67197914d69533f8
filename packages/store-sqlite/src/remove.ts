import { type DeleteOutcome, type DeleteRequest, formatRevision } from "@scrollback/store-core";
import { isExpired, type Statements, type ThreadRow } from "./statements.ts";
import { toStored } from "./text.ts";

/**
 * Deletes the thread of a request, or what it left behind when it expired, and with it at most so many messages; to be run in a
 * write transaction. The rest of a longer one waits for {@link sweepExpired} under an id that no thread can have.
 */
export function deleteThread(
  statements: Statements,
  { threadId, expectedRevision }: DeleteRequest,
  messages: number,
): DeleteOutcome {
  const found = statements.findThread.get(toStored(threadId)) as ThreadRow | undefined;
  const thread = found && !isExpired(found, Date.now()) ? found : undefined;
  const revision = thread ? formatRevision(thread.epoch, thread.number) : null;
  if (expectedRevision !== undefined && expectedRevision !== revision) {
    return { outcome: "revision-conflict", revision };
  }
  if (found) {
    detachThread(statements, found.key);
    sweepThread(statements, found.key, messages);
  }
  return { outcome: "deleted" };
}

/** Makes a thread one that is to be removed, and its id free. */
export function detachThread(statements: Statements, key: number): void {
  // Longer than any id that a thread can have.
  statements.detachThread.run(String(key).padStart(1_025, "0"), key);
}

/**
 * Removes at most so many messages of the thread that expired first, and with the last of them the thread; to be run in a
 * write transaction. Returns whether any had expired by `now`. With 0 those count that were deleted, written to again or are
 * removed in part.
 */
export function sweepExpired(statements: Statements, now: number, messages: number): boolean {
  const expired = statements.findExpired.get(now);
  if (!expired) return false;
  const key = Number(expired.key);
  // It stays expired, should the clock go back: some of its messages are gone.
  if (sweepThread(statements, key, messages)) statements.setExpiry.run(0, key);
  return true;
}

/** Returns whether messages are left; where none are, the thread is gone. */
function sweepThread(statements: Statements, key: number, messages: number): boolean {
  if (statements.deleteOldestMessages.run(key, key, messages).changes !== 0) return true;
  statements.deleteMessages.run(key, 0, Number.MAX_SAFE_INTEGER);
  statements.deleteCommits.run(key, Number.MAX_SAFE_INTEGER);
  statements.deleteMetadata.run(key);
  statements.deleteThread.run(key);
  return false;
}
