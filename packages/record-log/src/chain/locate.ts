import type { LogRow, RecordLog } from "../record-log.ts";
import { decodeHeadIfSound, decodeRowContents, type Head, spotsIn } from "../rows/format.ts";
import { isInRanges } from "../rows/ranges.ts";
import { type Chain, type Link, linkOf, MissingRow, type Run, rowContentsOf, runOf } from "./chain.ts";

const FIRST_WINDOW = 96;
const LARGEST_WINDOW = 512;

/**
 * Thrown by a plan that needs a message whose row is not known. Not an Error, because capturing its stack would cost more
 * than the plan.
 */
export class NotLocated {
  readonly sequence: number;
  /** Whether the message must be located from the end, because all messages above it are needed too. */
  readonly isFromEnd: boolean;

  constructor(sequence: number, isFromEnd: boolean) {
    this.sequence = sequence;
    this.isFromEnd = isFromEnd;
  }
}

/** The run that holds a message. @throws NotLocated */
export function locate(chain: Chain, sequence: number): Run {
  const run = runIn(chain.bottom, sequence) ?? runIn(chain.top, sequence);
  if (!run) throw new NotLocated(sequence, false);
  return run;
}

/** Like {@link locate}, but all messages above must be known too. @throws NotLocated */
export function locateFromEnd(chain: Chain, sequence: number): Run {
  const run = runIn(chain.top, sequence);
  if (!run) throw new NotLocated(sequence, true);
  return run;
}

function runIn(runs: readonly Run[], sequence: number): Run | undefined {
  let [low, high] = [0, runs.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((runs[middle]?.to ?? 0) <= sequence) low = middle + 1;
    else high = middle;
  }
  const run = runs[low];
  return run && run.from <= sequence ? run : undefined;
}

/**
 * Reads rows to locate a message: from the end down or from the first message up, whichever is nearer.
 *
 * @throws MissingRow
 */
export async function readTowards(
  log: RecordLog,
  stream: string,
  chain: Chain,
  { sequence, isFromEnd }: NotLocated,
): Promise<void> {
  const { end } = chain;
  if (!end) throw new RangeError("a thread that is not there has no messages");
  const low = chain.top[0]?.from ?? end.bounds[1];
  const high = chain.bottom.at(-1)?.to ?? end.bounds[0];
  if (isFromEnd || low - sequence <= sequence - high) await readDown(log, stream, chain, end);
  else await readUp(log, stream, chain, end, low);
}

async function readDown(log: RecordLog, stream: string, chain: Chain, end: Head): Promise<void> {
  const [lowest] = chain.top;
  const row = lowest ? lowest.link.back : end.newest;
  if (row === undefined) throw new MissingRow(end.edge, end);
  const rows = await log.read(stream, row + 1, FIRST_WINDOW, true);
  const runs = walkDown(rows, end, row, lowest?.from ?? end.bounds[1], end.bounds[0]);
  if (runs.length === 0) throw new MissingRow(row, end);
  chain.top = [...runs.reverse(), ...chain.top];
}

async function readUp(log: RecordLog, stream: string, chain: Chain, end: Head, low: number): Promise<void> {
  const known = chain.bottom.at(-1);
  const from = known?.link.number ?? end.edge;
  const first = known?.to ?? end.bounds[0];
  // No row above was dropped, so the texts, which may be large, are not needed.
  const isUncut = (end.cut ?? 0) <= from;
  // A thread that needs more rows than the first ones will need many.
  const smallest = known && isUncut ? LARGEST_WINDOW : FIRST_WINDOW;
  for (let size = smallest; ; size = Math.min(LARGEST_WINDOW, size * 2)) {
    const rows = await log.read(stream, from + size, size, isUncut);
    const [lowest] = chain.top;
    const back = lowest?.link.back ?? 0;
    const highest =
      back >= from && back < from + size ? { row: back, to: low } : highestLive(rows, end, isUncut);
    const runs = highest ? walkDown(rows, end, highest.row, highest.to, first) : [];
    if (runs.at(-1)?.from === first) {
      chain.bottom.push(...runs.reverse());
      return;
    }
    if (from + size > end.number) throw new MissingRow(from, end);
    if (size === LARGEST_WINDOW) return await readDown(log, stream, chain, end);
  }
}

/**
 * Whether a thread has a message, a pinned message or its metadata in a row. Reads down from the end as far as it must.
 *
 * @throws MissingRow
 */
export async function isNeeded(log: RecordLog, stream: string, chain: Chain, row: number): Promise<boolean> {
  const { end } = chain;
  if (!end) return false;
  if (spotsIn(end).some(([spot]) => spot === row)) return true;
  for (;;) {
    const [lowest] = chain.top;
    if (chain.top.some(({ link }) => link.number === row)) return true;
    const next = lowest ? lowest.link.back : end.newest;
    if (next === undefined || next < row || (lowest && lowest.from <= end.bounds[0])) return false;
    await readDown(log, stream, chain, end);
  }
}

/** Follows the rows that `row` names down to message `first`. Yields the thread's rows on the way, highest first. */
function walkDown(
  rows: readonly LogRow[],
  end: Head,
  row: number | undefined,
  low: number,
  first: number,
): Run[] {
  const runs: Run[] = [];
  let index = 0;
  for (let [next, to] = [row, low]; next !== undefined && to > first; ) {
    while ((rows[index]?.number ?? 0) > next) index++;
    const found = rows[index];
    if (found?.number !== next) break;
    const run = runOf(rowContentsOf(decodeRowContents(found.number, found.head)), end, to);
    if (!run) throw new MissingRow(next, end);
    const from = Math.max(run.from, first);
    if (from < run.to) runs.push(from === run.from ? run : { ...run, from });
    to = run.from;
    next = run.link.back;
  }
  return runs;
}

/**
 * Finds the highest row that is certainly part of the thread, and the end of its messages. Such a row
 *
 * - is linked: the row above was inserted on it, or a higher row names it as the one that held the messages before. A row
 *   that was inserted under a freed key by a writer that came too late is neither;
 * - was not dropped: it has a text that is neither blank nor listed as dead. Texts that a head no longer lists are blank.
 *
 * Everything below such a row is then found exactly, because a row names the row before it, and a thread that still has the
 * messages of a row has all below them.
 *
 * @param isUncut whether no row was dropped, so that the rows may be without texts.
 */
export function highestLive(
  rows: readonly LogRow[],
  end: Head,
  isUncut: boolean,
): { row: number; to: number } | undefined {
  const named = new Set<number>();
  let above: Link | undefined;
  for (const row of rows) {
    const head = decodeHeadIfSound(row);
    const link = head?.incarnation === end.incarnation ? linkOf(head) : undefined;
    const isLinked =
      row.number === end.number ||
      named.has(row.number) ||
      (link && above?.number === row.number + 1 && above.predecessor === link.token);
    above = link;
    if (!link || link.start === undefined || isInRanges(end.free ?? [], row.number)) continue;
    const to = isUncut ? link.start + (link.kinds?.length ?? 0) : endOfLive(link, row.texts, end);
    if (to === undefined || to === link.start || to <= end.bounds[0]) continue;
    if (isLinked) return { row: row.number, to };
    if (link.back !== undefined) named.add(link.back);
  }
  return undefined;
}

function endOfLive({ number, start = 0, kinds = "" }: Link, texts: readonly string[], end: Head) {
  const listed = (end.blank ?? []).filter(([row]) => row === number);
  for (let index = kinds.length - 1; index >= 0 && start + index >= end.bounds[0]; index--) {
    const isDead = (texts[index] ?? "") === "" || listed.some(([, from, to]) => from <= index && index < to);
    if (!isDead) return start + index + 1;
  }
  return undefined;
}
