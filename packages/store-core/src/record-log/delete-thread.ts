import type { Clock } from "../clock.ts";
import { type DeleteOutcome, type DeleteRequest, formatRevision } from "../driver.ts";
import { newEpoch as newToken } from "../epoch.ts";
import type { Attempt } from "./attempts.ts";
import {
  isAlive,
  isEnd,
  isRecent,
  MAX_ATTEMPTS,
  momentOf,
  pauseAfterLosing,
  tooManyWriters,
} from "./chain.ts";
import { DELETED_MS, never, SOLID_MARGIN_MS } from "./expiry.ts";
import { decodeHeadIfSound, type Head } from "./format.ts";
import { repeatHead } from "./plan.ts";
import { FIRST_ROW, type LogRow, type RecordLog } from "./record-log.ts";
import { insertHead } from "./write.ts";

/** What a deletion has to know of a stream. */
interface Newest {
  readonly row: LogRow | undefined;
  /** Undefined where the row is damaged. */
  readonly head: Head | undefined;
  /** The head is the end of a chain: something can be inserted on it. */
  readonly isOpen: boolean;
  readonly root: LogRow | undefined;
}

/**
 * Deletes a thread: a closing row on its end, which makes it so for every reader, and then one amendment, which blanks all rows
 * of the stream up to that one and lets the backend delete them. A thread that is damaged, or is not there, leaves nothing
 * behind either. Where the process dies between the two, the same call again makes the amendment.
 */
export async function deleteThread(
  log: RecordLog,
  clock: Clock,
  { threadId: stream, expectedRevision, signal }: DeleteRequest,
  attempts: Attempt[],
): Promise<DeleteOutcome> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    if (attempt > 0) await pauseAfterLosing(clock, attempt - 1, signal);
    const began = momentOf(clock);
    const newest = await readNewest(log, stream);
    const { head, isOpen } = newest;
    const current = isOpen && isAlive(head, began.wall) ? head : undefined;
    const made = await findMade(log, stream, attempts, current);
    if (made) {
      await release(log, stream, clock, made.number, made.root);
      return { outcome: "repeated" };
    }
    const revision = current ? formatRevision(current.incarnation, current.n) : null;
    if (expectedRevision !== undefined && expectedRevision !== revision)
      return { outcome: "revision-conflict", revision };
    const closing = closingOn(newest, began.wall);
    if (closing) {
      const { number, token, incarnation, n, root } = closing;
      if (!isRecent(clock, began)) continue;
      const own: Attempt = { number, token, incarnation, n, digest: "", root, isLate: false };
      attempts.push(own);
      const taken = await insertHead(log, stream, closing, []);
      if (taken !== true) {
        if (taken && decodeHeadIfSound(taken)?.token !== token) attempts.splice(attempts.indexOf(own), 1);
        continue;
      }
      // So late, its key may have been free again: the next look tells.
      if (!isRecent(clock, began)) continue;
    }
    const root = newest.root?.number ?? 0;
    await release(log, stream, clock, closing?.number ?? newest.row?.number ?? root, root);
    return { outcome: "deleted" };
  }
  throw tooManyWriters();
}

async function readNewest(log: RecordLog, stream: string): Promise<Newest> {
  const [rows, roots] = await Promise.all([
    log.read(stream, Number.POSITIVE_INFINITY, 2, true),
    log.read(stream, FIRST_ROW, 1, true),
  ]);
  const [row, below] = rows;
  const head = row && decodeHeadIfSound(row);
  const isOpen = row !== undefined && head !== undefined && (await isEnd(log, stream, row, head, below));
  return { row, head, isOpen, root: roots[0] };
}

/** The row that closes the newest incarnation; undefined where nothing can be inserted on it any more. */
function closingOn({ row, head, isOpen, root }: Newest, now: number): Head | undefined {
  if (!row || head?.closed) return undefined;
  if (head && isOpen) {
    if (now >= never(head.keptUntil) + SOLID_MARGIN_MS) return undefined;
    return repeatHead(head, newToken(), { at: Math.max(now, head.at), closed: 1 });
  }
  // It was freed, or came too late to be part of a chain.
  if (head) return undefined;
  // The newest row is damaged, or a root is: whatever would be inserted on it, this row is there first.
  const number = row.number < FIRST_ROW ? undefined : row.number + 1;
  if (number === undefined || !Number.isSafeInteger(number)) return undefined;
  const token = newToken();
  return {
    ...{ number, token, predecessor: token, root: root?.number ?? 0, incarnation: token, n: 0 },
    ...{ at: now, createdAt: now, bounds: [1, 1], edge: number, bottom: number, closed: 1 },
  };
}

/** Of the closing rows that this deletion has inserted without a reply, the one that ended the thread. */
async function findMade(
  log: RecordLog,
  stream: string,
  attempts: readonly Attempt[],
  current: Head | undefined,
): Promise<Attempt | undefined> {
  for (const attempt of attempts) {
    // A thread that goes on was not ended by a row that came to lie below its end.
    if (current?.incarnation === attempt.incarnation) continue;
    const [row] = await log.read(stream, attempt.number + 1, 1, true);
    if (row?.number === attempt.number && decodeHeadIfSound(row)?.token === attempt.token) return attempt;
  }
  return undefined;
}

/** Blanks all rows up to `last`, and all roots up to `root`, and lets the backend delete them. */
async function release(
  log: RecordLog,
  stream: string,
  clock: Clock,
  last: number,
  root: number,
): Promise<void> {
  const expiresAt = clock.wall() + DELETED_MS;
  const amendments = [
    { from: FIRST_ROW, to: last + 1, blank: "all" as const, expiresAt },
    { from: 1, to: root + 1, expiresAt },
  ].filter(({ from, to }) => from < to);
  if (amendments.length > 0) await log.amend(stream, amendments);
}
