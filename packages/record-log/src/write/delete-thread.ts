import { StoreError } from "@scrollback/store-core";
import { type DeleteOutcome, type DeleteRequest, formatRevision } from "@scrollback/store-core/driver";
import {
  type Clock,
  newIncarnation as newToken,
  retry,
  throwIfAborted,
} from "@scrollback/store-core/internal";
import {
  isAlive,
  isEnd,
  isRecent,
  MAX_ATTEMPTS,
  momentOf,
  StartOver,
  tooManyWriters,
} from "../chain/chain.ts";
import { type Amendment, FIRST_ROW, type LogRow, type RecordLog } from "../record-log.ts";
import { DELETED_MS, never, outlivesLateRoots, RELEASED_MS, SOLID_MARGIN_MS } from "../rows/expiry.ts";
import { decodeHead, decodeHeadIfSound, type Head } from "../rows/format.ts";
import type { Closing } from "./attempts.ts";
import { repeatHead } from "./plan.ts";
import { insertHead } from "./write.ts";

/** The state of a stream that a deletion needs. */
interface Newest {
  /** The row with the highest number. A root counts as the row before its first row. */
  readonly row: LogRow | undefined;
  /** Undefined if the row is damaged. */
  readonly head: Head | undefined;
  /** Whether the head is the end of a chain, so that a row can be inserted on it. */
  readonly isOpen: boolean;
  /** The highest number of all; that of a root only if there is no other row. */
  readonly highest: number;
  readonly root: LogRow | undefined;
}

/**
 * Deletes a thread in three steps. A closing row on its end deletes it for every reader. Then one amendment blanks all rows
 * of the stream up to that row and lets the backend delete them. After that the backend may delete the closing row, too. A damaged
 * or absent thread leaves nothing behind either. If the process dies between the steps, repeating the call makes the others.
 */
export async function deleteThread(
  log: RecordLog,
  clock: Clock,
  { threadId: stream, expectedRevision, signal }: DeleteRequest,
  closings: Closing[],
): Promise<DeleteOutcome> {
  const attempt = async (): Promise<DeleteOutcome> => {
    const began = momentOf(clock);
    const newest = await readNewest(log, stream);
    const { head, isOpen } = newest;
    const current = isOpen && isAlive(head, began.wall) ? head : undefined;
    const made = await findMade(log, stream, clock, closings, current);
    if (made) {
      await release(log, stream, clock, { ...made, closed: 1 }, newest.root);
      return { outcome: "repeated" };
    }
    // A damaged row does not tell the revision.
    if (expectedRevision !== undefined && newest.row && !head) decodeHead(newest.row.number, newest.row.head);
    const revision = current ? formatRevision(current.incarnation, current.n) : null;
    if (expectedRevision !== undefined && expectedRevision !== revision)
      return { outcome: "revision-conflict", revision };
    const closing = closingOn(newest, began.wall);
    if (closing) {
      if (!isRecent(clock, began)) throw new StartOver();
      // Nobody waits for it, so a later write may have been made.
      throwIfAborted(signal);
      const { number, token, incarnation, root } = closing;
      closings.push({ number, token, incarnation, root, sent: began });
      const taken = await insertHead(log, stream, closing, []);
      // This late, its key may have been free again, so that no thread was closed.
      if (taken !== true || !isRecent(clock, began)) throw new StartOver();
    }
    const last = closing ?? { number: newest.highest, root: newest.root?.number ?? 0, closed: head?.closed };
    await release(log, stream, clock, last, newest.root);
    return { outcome: "deleted" };
  };
  return await retry(attempt, {
    attempts: MAX_ATTEMPTS,
    isRetryable: (error) => error instanceof StartOver,
    exhausted: tooManyWriters,
    longestPause: 2,
    signal,
    clock,
  });
}

async function readNewest(log: RecordLog, stream: string): Promise<Newest> {
  const rows = await log.read(stream, Number.POSITIVE_INFINITY, 2, true);
  // After the rows, so that their root is seen.
  const [root] = await log.read(stream, FIRST_ROW, 1, true);
  const base = (root && decodeHeadIfSound(root)?.base) ?? 0;
  const [highest, below] = rows;
  // The first row after the newest root may be on its way.
  const row = root && (highest?.number ?? 0) < base ? root : highest;
  const head = row && decodeHeadIfSound(row);
  const isOpen = row !== undefined && head !== undefined && (await isEnd(log, stream, row, head, below));
  return { row, head, isOpen, highest: highest?.number ?? 0, root };
}

/** The row that closes the newest incarnation; undefined if nothing can be inserted on it any more. */
function closingOn({ row, head, isOpen, root }: Newest, now: number): Head | undefined {
  if (!row || head?.closed) return undefined;
  if (head && isOpen) {
    if (now >= never(head.keptUntil) + SOLID_MARGIN_MS) return undefined;
    return repeatHead(head, newToken(), { at: Math.max(now, head.at), closed: 1 });
  }
  // The row was freed, or was inserted too late to be part of a chain.
  if (head) return undefined;
  // The newest row or a root is damaged. This row takes the key of any row that would be inserted on it.
  const number = row.number < FIRST_ROW ? undefined : row.number + 1;
  if (number === undefined || !Number.isSafeInteger(number)) return undefined;
  const token = newToken();
  return {
    ...{ number, token, predecessor: token, root: root?.number ?? 0, incarnation: token, n: 0 },
    ...{ at: now, createdAt: now, bounds: [1, 1], edge: number, bottom: number, closed: 1 },
  };
}

/**
 * Returns the closing row that ended the thread, among those that this deletion has sent with unknown outcome. Only a
 * recent row is proof: later its key may have been free again. A store repeats a deletion within seconds, so a row that
 * is not recent was sent before the clock jumped or the process slept.
 */
async function findMade(
  log: RecordLog,
  stream: string,
  clock: Clock,
  closings: readonly Closing[],
  current: Head | undefined,
): Promise<Closing | undefined> {
  for (const closing of closings) {
    if (current?.incarnation === closing.incarnation) continue;
    const [row] = await log.read(stream, closing.number + 1, 1, true);
    if (row?.number !== closing.number || decodeHeadIfSound(row)?.token !== closing.token) continue;
    if (isRecent(clock, closing.sent)) return closing;
    throw new StoreError(
      "UNAVAILABLE",
      "the deletion's outcome is unknown: it may have been made before the clock jumped; delete the thread again if what it holds now must go",
    );
  }
  return undefined;
}

/**
 * Blanks all rows up to the last one and lets the backend delete them, and the roots up to its own. If the newest root
 * will be deleted soon, roots stay unchanged: their numbers may be reused when the amendment arrives. A closing row is released after
 * all others: as long as one of them may be as it was, it keeps the thread deleted.
 */
async function release(
  log: RecordLog,
  stream: string,
  clock: Clock,
  last: { readonly number: number; readonly root: number; readonly closed?: 1 | undefined },
  newestRoot: LogRow | undefined,
): Promise<void> {
  const now = clock.wall();
  const expiresAt = now + DELETED_MS;
  const isRootKept = newestRoot !== undefined && outlivesLateRoots(newestRoot.expiresAt, now);
  const to = last.closed ? last.number : last.number + 1;
  const amendments: Amendment[] = [];
  if (to > FIRST_ROW) amendments.push({ from: FIRST_ROW, to, blank: "all", expiresAt: now + RELEASED_MS });
  if (isRootKept && last.root > 0) amendments.push({ from: 1, to: last.root + 1, expiresAt });
  if (amendments.length > 0) await log.amend(stream, amendments);
  if (last.closed) await log.amend(stream, [{ from: last.number, to: last.number + 1, expiresAt }]);
}
