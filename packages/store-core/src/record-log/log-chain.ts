import { REMEMBERED_OPERATIONS } from "../driver.ts";
import type { Extent } from "../trimming.ts";
import { type LogCommit, type LogHead, parseHead, parseHeadIfSound, type TextPlace } from "./log-record.ts";
import type { LogRow, RecordLog } from "./record-log.ts";

/**
 * The newest rows of a log that belong together: each built on the next. A row whose base is not there is void: a writer
 * inserted it long after it had learned the end, when the keys were free again. Void rows are passed over; only their
 * numbers are taken.
 */
export interface LogChain {
  /** Newest first. Empty for a log without (valid) rows. */
  readonly heads: LogHead[];
  /** The highest number that is taken; 0 for an empty log. */
  readonly top: number;
  /** Whether the chain goes no further down. */
  readonly exhausted: boolean;
}

/** Whether a thread with this last row is there at `now`: committed to, and not expired. */
export function isAlive(head: LogHead | undefined, now: number): head is LogHead {
  return head !== undefined && head.n > 0 && (head.end.expiresAt === undefined || head.end.expiresAt > now);
}

function isBaseOf(base: LogHead, head: LogHead): boolean {
  return base.number === head.base.number && base.token === head.base.token;
}

/**
 * The end of a log as a reader needs it: not what leads down to it. Rows below it may be damaged; a row on a damaged one is
 * taken for built on it.
 *
 * @returns the newest valid row, undefined for a log without any, and at least `limit` rows as read, newest first.
 */
export async function readEnd(
  log: RecordLog,
  stream: string,
  limit: number,
  now: number,
): Promise<{ readonly end: LogHead | undefined; readonly rows: LogRow[] }> {
  for (let wanted = Math.max(2, limit); ; wanted *= 2) {
    const rows = await log.read(stream, Number.POSITIVE_INFINITY, wanted, false);
    const present = presentOf(rows, now);
    const exhausted = rows.length < wanted;
    let isDecided = true;
    for (const [at, row] of present.entries()) {
      // Without it nobody knows what the thread is.
      const head = parseHead(row.number, row.head);
      const below = present.slice(at + 1);
      const under = below.find(({ number }) => number === head.base.number);
      const base = under && parseHeadIfSound(under);
      const isLast =
        (under && (!base || isBaseOf(base, head))) ||
        isEnd(
          head,
          below.flatMap((one) => parseHeadIfSound(one) ?? []),
          exhausted,
          now,
        );
      if (isLast) return { end: head, rows };
      if (isLast === undefined) {
        isDecided = false;
        break;
      }
    }
    if (isDecided) return { end: undefined, rows };
  }
}

/** Whether a row may be the end of the log, given the rows below it; undefined when more of them must be known. */
function isEnd(
  head: LogHead,
  below: readonly LogHead[],
  exhausted: boolean,
  now: number,
): boolean | undefined {
  if (below.some((base) => isBaseOf(base, head))) return true;
  const lowest = below.at(-1);
  if (!exhausted && (lowest === undefined || lowest.number > head.base.number)) return undefined;
  // The row that it was built on is gone. That is sound only for the first of an epoch: what it followed had expired.
  return head.n <= 1 && !isAlive(below[0], now);
}

function follow(heads: readonly LogHead[], from: number): LogHead[] {
  const chain: LogHead[] = [];
  for (const head of heads.slice(from)) {
    const last = chain.at(-1);
    if (last === undefined || isBaseOf(head, last)) chain.push(head);
  }
  return chain;
}

/** Reads the end of a log: at least `limit` rows, or as many as there are. */
export async function readChain(
  log: RecordLog,
  stream: string,
  limit: number,
  now: number,
): Promise<LogChain> {
  for (let wanted = Math.max(2, limit); ; wanted *= 2) {
    const rows = await log.read(stream, Number.POSITIVE_INFINITY, wanted, true);
    const chain = stack(rows, { heads: [], top: 0, exhausted: rows.length < wanted }, now);
    if (chain) return chain.heads.length > 0 ? chain : { ...chain, exhausted: true };
  }
}

/** Others rarely insert more than this between two requests of one writer. */
const CATCH_UP_ROWS = 8;

/**
 * Puts what others inserted since a chain was read on top of it, by reading only the newest few rows.
 *
 * @returns undefined where those do not lead down to the chain: it must be read anew.
 */
export async function catchUp(
  log: RecordLog,
  stream: string,
  chain: LogChain,
  now: number,
): Promise<LogChain | undefined> {
  const rows = await log.read(stream, Number.POSITIVE_INFINITY, CATCH_UP_ROWS, true);
  const leadsDown = rows.some(({ number }) => number === chain.top);
  const isGone = presentOf(rows, now).length < rows.length;
  return leadsDown && !isGone ? stack(rows, chain, now) : undefined;
}

/** Puts rows on top of a chain, newest first; those below its top are passed over. Undefined: more must be known. */
export function stack(rows: readonly LogRow[], chain: LogChain, now: number): LogChain | undefined {
  const newer = rows.filter(({ number }) => number > chain.top);
  const top = newer[0]?.number ?? chain.top;
  const added = presentOf(newer, now).map((row) => parseHead(row.number, row.head));
  const heads = [...added, ...chain.heads];
  for (const at of added.keys()) {
    const end = heads[at] && isEnd(heads[at], heads.slice(at + 1), chain.exhausted, now);
    if (end === undefined) return undefined;
    if (end) return { heads: follow(heads, at), top, exhausted: chain.exhausted };
  }
  return { ...chain, top };
}

/** A row past its expiry counts as gone, whenever the backend gets to it. */
function presentOf(rows: readonly LogRow[], now: number): LogRow[] {
  return rows.filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now);
}

/**
 * Goes further down a chain until `isEnough` or there is no more.
 *
 * @param expected how many rows that is likely to take.
 */
export async function deepen(
  log: RecordLog,
  stream: string,
  chain: LogChain,
  isEnough: (chain: LogChain) => boolean,
  expected = REMEMBERED_OPERATIONS,
): Promise<LogChain> {
  let known = chain;
  for (let limit = expected; !known.exhausted && !isEnough(known); limit *= 2) {
    const last = known.heads.at(-1);
    if (!last || last.base.number === 0) return { ...known, exhausted: true };
    const rows = await log.read(stream, last.base.number + 1, limit, true);
    const heads = follow([last, ...rows.map((row) => parseHead(row.number, row.head))], 0);
    known = {
      ...known,
      heads: [...known.heads, ...heads.slice(1)],
      exhausted: rows.length < limit || heads.length === 1,
    };
  }
  return known;
}

/** Whether a chain holds all commits of its epoch whose operation ids are remembered. */
export function knowsOperations({ heads }: LogChain): boolean {
  const [end, last] = [heads[0], heads.at(-1)];
  return (
    end === undefined ||
    last === undefined ||
    last.epoch !== end.epoch ||
    last.n <= end.n - REMEMBERED_OPERATIONS
  );
}

/** The commits of the chain's epoch whose operation ids are remembered, and all from row `attempted` on, newest first. */
export function rememberedCommits(
  { heads }: LogChain,
  attempted = Number.POSITIVE_INFINITY,
): (LogHead & { commit: LogCommit })[] {
  const end = heads[0];
  return heads.filter(
    (head): head is LogHead & { commit: LogCommit } =>
      head.commit !== undefined &&
      head.epoch === end?.epoch &&
      (head.n > end.n - REMEMBERED_OPERATIONS || head.number >= attempted),
  );
}

/** A run of messages that a row holds and the thread still shows. */
export interface VisibleRun {
  readonly head: LogHead;
  readonly commit: LogCommit;
  /** Sequence numbers `from` to `to - 1`. */
  readonly from: number;
  readonly to: number;
}

/** What of a row is visible when everything from `low` on stands in newer rows. */
export function visibleRun(head: LogHead, extent: Extent, low: number): VisibleRun | undefined {
  if (!head.commit) return undefined;
  const from = Math.max(head.commit.start, extent.first);
  const to = Math.min(head.commit.start + head.commit.kinds.length, low);
  return from < to ? { head, commit: head.commit, from, to } : undefined;
}

/** The visible runs that a chain knows of, newest first, without the pinned message. */
export function* visibleRuns({ heads }: LogChain): Generator<VisibleRun> {
  const end = heads[0];
  if (!end) return;
  let low = end.end.extent.next;
  for (const head of heads) {
    if (head.epoch !== end.epoch || low <= end.end.extent.first) return;
    const run = visibleRun(head, end.end.extent, low);
    if (run) yield run;
    if (head.commit) low = Math.min(low, head.commit.start);
  }
}

/** Whether a chain reaches down to the row that holds a message, or would. */
export function reaches(chain: LogChain, sequence: number): boolean {
  const epoch = chain.heads[0]?.epoch;
  return chain.heads.some((head) => head.epoch !== epoch || (head.commit && head.commit.start <= sequence));
}

/** The visible run that holds a message; undefined where the chain does not know it. */
export function runOf(chain: LogChain, sequence: number): VisibleRun | undefined {
  for (const run of visibleRuns(chain)) if (run.from <= sequence && sequence < run.to) return run;
  return undefined;
}

/** As {@link runOf}, for many messages of one chain: the runs are walked once. */
export function runsBySequence(chain: LogChain): (sequence: number) => VisibleRun | undefined {
  let runs: readonly VisibleRun[] | undefined;
  return (sequence) => {
    runs ??= [...visibleRuns(chain)];
    // Newest first: the first run that begins at the message or before it.
    let [low, high] = [0, runs.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((runs[middle]?.from ?? 0) <= sequence) high = middle;
      else low = middle + 1;
    }
    const run = runs[low];
    return run && sequence < run.to ? run : undefined;
  };
}

/** Where the text of a message of a run lies. */
export function placeOf({ head, commit }: VisibleRun, sequence: number): TextPlace {
  const setsMetadata = head.end.metadataAt?.row === head.number;
  return {
    row: head.number,
    index: sequence - commit.start,
    count: commit.kinds.length + (setsMetadata ? 1 : 0),
  };
}
