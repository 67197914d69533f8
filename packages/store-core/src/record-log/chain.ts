import type { Clock } from "../clock.ts";
import { REMEMBERED_OPERATIONS } from "../driver.ts";
import { StoreError } from "../errors.ts";
import { isFreed, never } from "./expiry.ts";
import {
  type ContentsHead,
  decodeHead,
  decodeHeadIfSound,
  type Head,
  headFields,
  type RowRange,
  textCountOf,
} from "./format.ts";
import { FIRST_ROW, type LogRow, type RecordLog } from "./record-log.ts";

const MINUTE = 60_000;
/** The time for which cached state of a log is trusted, measured by two clocks. */
const TRUSTED_MS = 5 * MINUTE;
/** The number of rows that a writer without cached state reads: the remembered commits, and a few rows between them. */
const ROWS_AT_FIRST = REMEMBERED_OPERATIONS + 16;
/** The number of rows that a writer with an older end reads. */
const ROWS_TO_CATCH_UP = 8;
const RUNS_KEPT = 128;
/** The maximum number of attempts to insert a row. */
export const MAX_ATTEMPTS = 200;
const LONGEST_PAUSE_MS = 100;
const FIRST_PAUSE_MS = 25;

/** One moment by both clocks. */
export interface Moment {
  readonly wall: number;
  readonly monotonic: number;
}

export function momentOf(clock: Clock): Moment {
  return { wall: clock.wall(), monotonic: clock.monotonic() };
}

/** Whether less than five minutes have passed since a moment, by either clock. */
export function isRecent(clock: Clock, since: Moment): boolean {
  return Math.abs(clock.wall() - since.wall) < TRUSTED_MS && clock.monotonic() - since.monotonic < TRUSTED_MS;
}

/** The part of a head from which the messages of its row follow. */
export interface RowContents extends Pick<Head, "number" | "start" | "kinds" | "back" | "fragments"> {
  /** How many texts the row has. */
  readonly textCount: number;
  /** The rows of the uploads that were open when this row was inserted. */
  readonly openRows: readonly RowRange[];
}

/** What a chain remembers of a row below the end. */
export interface Link
  extends RowContents,
    Pick<Head, "token" | "predecessor" | "incarnation" | "n" | "operationId" | "digest"> {}

const NO_ROWS: readonly RowRange[] = [];

export function rowContentsOf(head: ContentsHead): RowContents {
  const { number, start, kinds, back, fragments, uploads } = head;
  const openRows = uploads?.flatMap(([, , rows]) => rows) ?? NO_ROWS;
  return { number, start, kinds, back, fragments, textCount: textCountOf(head), openRows };
}

export function linkOf(head: Head): Link {
  const { token, predecessor, incarnation, n, operationId, digest } = head;
  return { ...rowContentsOf(head), token, predecessor, incarnation, n, operationId, digest };
}

/** The thread's messages `from` to `to - 1`, and the row that holds them. */
export interface Run {
  readonly from: number;
  readonly to: number;
  readonly link: RowContents;
}

/** Whether a thread exists after a row; `now` is the time of the caller's clock. */
export function isAlive(head: Head | undefined, now: number): head is Head {
  return head !== undefined && head.n > 0 && !head.closed && now < never(head.expiresAt);
}

/** Thrown if a required row is missing: the end has changed since it was read, or the thread is damaged. */
export class MissingRow extends Error {
  readonly row: number;
  /** The token of the end that needs the row. */
  readonly end: string;

  constructor(row: number, end: Head) {
    super();
    this.row = row;
    this.end = end.token;
  }
}

/** @param lost the number of attempts that were lost before, from 0. */
export async function pauseAfterLosing(
  clock: Clock,
  lost: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  await clock.sleep(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** lost), signal);
}

export function tooManyWriters(): StoreError {
  return new StoreError("UNAVAILABLE", `the thread has too many writers: ${MAX_ATTEMPTS} attempts lost`, {
    retryable: true,
  });
}

/**
 * Whether the newest row of a stream is the end of a chain. A root is an end if no row was inserted on it yet. A freed
 * row is not an end: the row that closed its incarnation was deleted before it. A row is not an end either if both the
 * row that it was inserted on and the root are missing: it was inserted so late that its incarnation was deleted, key by
 * key. The stream then has no end.
 *
 * @param below the row below it, if there is one.
 */
export async function isEnd(
  log: RecordLog,
  stream: string,
  row: LogRow,
  head: Head,
  below: LogRow | undefined,
): Promise<boolean> {
  if (isFreed(row, head)) return false;
  if (row.number < FIRST_ROW || (below && holdsToken(below, head.predecessor))) return true;
  const [root] = await log.read(stream, head.root + 1, 1, true);
  if (root?.number !== head.root) return false;
  const rootHead = decodeHeadIfSound(root);
  // A damaged root proves that a root existed, which is sufficient here.
  return rootHead === undefined || rootHead.token === head.incarnation;
}

/** Whether a row has a token, without decoding its whole head. */
function holdsToken({ head }: LogRow, token: string | undefined): boolean {
  return token !== undefined && head.includes(`"${headFields.token.key}":${JSON.stringify(token)}`);
}

/** The messages of a row that are visible in the thread, if all messages from `low` on are in higher rows. */
export function runOf(link: RowContents, end: Head, low: number): Run | undefined {
  const { start = 0, kinds = "" } = link;
  const from = Math.max(start, end.bounds[0]);
  const to = Math.min(start + kinds.length, low);
  return from < to ? { from, to, link } : undefined;
}

/** A process's cached state of a stream. Grows with each row that is linked to the end. */
export class Chain {
  /** The end, or the row that closed the newest incarnation. */
  end: Head | undefined;
  /** The number of the newest row, whether or not it is part of the thread; 0 if there is none. */
  highest = 0;
  /** The newest root. */
  root: { readonly head: Head; readonly expiresAt: number | undefined } | undefined;
  /** Whether the newest root was searched for, which is only necessary if the thread does not exist. */
  knowsRoot = false;
  /** The time at which the end was known to be the end. */
  learned: Moment;
  /** The rows linked down from the end, lowest first: at least those of the remembered commits. */
  links: Link[] = [];
  /** The newest messages, lowest first, without a gap up to the end. */
  top: Run[] = [];
  /** The oldest messages, lowest first, without a gap from the first on. */
  bottom: Run[] = [];

  constructor(learned: Moment) {
    this.learned = learned;
  }

  /** Links a row that was inserted on the end, or on the root. */
  append(head: Head): void {
    if (head.predecessor !== this.end?.token) {
      this.links = [];
      this.top = [];
      this.bottom = [];
    }
    this.end = head;
    this.highest = head.number;
    const link = linkOf(head);
    this.links.push(link);
    if (this.links.length > 4 * ROWS_AT_FIRST) this.links.splice(0, this.links.length - this.#needed());
    if (head.start === undefined) return;
    this.top = cutRuns(this.top, head.bounds[0], head.start);
    this.bottom = cutRuns(this.bottom, head.bounds[0], head.start);
    const run = runOf(link, head, head.bounds[1]);
    if (run) this.top.push(run);
    if (this.top.length > 2 * RUNS_KEPT) this.top.splice(0, this.top.length - RUNS_KEPT);
  }

  /** The commits whose operation ids are remembered, newest first. */
  *remembered(): Generator<Link> {
    const n = this.end?.n ?? 0;
    for (let index = this.links.length - 1; index >= 0; index--) {
      const link = this.links[index];
      if (!link || link.n <= n - REMEMBERED_OPERATIONS) return;
      if (link.operationId !== undefined) yield link;
    }
  }

  /** The row of the oldest remembered commit; undefined if there is no commit. */
  oldestRemembered(): number | undefined {
    let oldest: number | undefined;
    for (const { number } of this.remembered()) oldest = number;
    return oldest;
  }

  /** Whether the links lead down to all remembered commits. */
  knowsRemembered(): boolean {
    const [lowest] = this.links;
    if (!this.end || !lowest) return true;
    const oldest = Math.max(1, this.end.n - REMEMBERED_OPERATIONS + 1);
    // Other rows with the same count are above the commit's.
    return lowest.n < oldest || (lowest.n === oldest && lowest.operationId !== undefined);
  }

  /** The number of the newest links that are needed. */
  #needed(): number {
    const n = this.end?.n ?? 0;
    const index = this.links.findIndex((link) => link.n > n - REMEMBERED_OPERATIONS);
    return this.links.length - Math.max(0, index);
  }
}

/** Returns runs limited to the messages from `first` to `next - 1`. Shares the array if only its ends change. */
function cutRuns(runs: Run[], first: number, next: number): Run[] {
  for (let last = runs.at(-1); last && last.to > next; last = runs.at(-1)) {
    runs.pop();
    if (last.from < next) runs.push({ ...last, to: next });
  }
  let gone = 0;
  while (gone < runs.length && (runs[gone]?.to ?? 0) <= first) gone++;
  if (gone > 0) runs.splice(0, gone);
  const [lowest] = runs;
  if (lowest && lowest.from < first) runs[0] = { ...lowest, from: first };
  return runs;
}

/** Whether `head` was inserted on `below`. */
function isLinked(head: Link, below: Link): boolean {
  return (
    head.number === below.number + 1 &&
    head.incarnation === below.incarnation &&
    head.predecessor === below.token
  );
}

/**
 * Updates the cached state to the end: reads a few rows if an older end is known, otherwise all rows that a writer needs.
 *
 * @throws StoreError `CORRUPT` if a required row is damaged.
 * @throws MissingRow
 */
export async function learn(
  log: RecordLog,
  stream: string,
  clock: Clock,
  known: Chain | undefined,
): Promise<Chain> {
  const learned = momentOf(clock);
  if (known?.end) {
    const rows = await log.read(stream, Number.POSITIVE_INFINITY, ROWS_TO_CATCH_UP, true);
    if (catchUp(known, rows)) {
      known.learned = learned;
      if (!isAlive(known.end, clock.wall())) await learnRoot(log, stream, known);
      return known;
    }
  }
  return await learnAll(log, stream, clock);
}

/** Links the rows above the known end, highest first; false if they do not lead down to it. */
export function catchUp(known: Chain, rows: readonly LogRow[]): boolean {
  const { end } = known;
  const at = rows.findIndex(({ number }) => number === end?.number);
  if (!end || at < 0) return false;
  const heads = rows.slice(0, at + 1).map(({ number, head }) => decodeHead(number, head));
  const [newest, newestHead] = [rows[0], heads[0]];
  if (newest && newestHead && isFreed(newest, newestHead)) return false;
  if (heads.at(-1)?.token !== end.token) return false;
  for (let index = 1; index < heads.length; index++) {
    const [head, below] = [heads[index - 1], heads[index]];
    if (!head || !below || !isLinked(linkOf(head), linkOf(below))) return false;
  }
  for (const head of heads.slice(0, -1).reverse()) known.append(head);
  return true;
}

/** Links one row to the known end; false if it was not inserted on it. */
export function linkRow(known: Chain, row: LogRow): boolean {
  const head = decodeHeadIfSound(row);
  if (!head || !known.end || !isLinked(linkOf(head), linkOf(known.end))) return false;
  known.append(head);
  return true;
}

async function learnAll(log: RecordLog, stream: string, clock: Clock): Promise<Chain> {
  const chain = new Chain(momentOf(clock));
  let rows = await log.read(stream, Number.POSITIVE_INFINITY, ROWS_AT_FIRST, true);
  let isWhole = rows.length < ROWS_AT_FIRST;
  const [newest, below] = rows;
  chain.highest = newest?.number ?? 0;
  if (newest && newest.number >= FIRST_ROW) {
    const head = decodeHead(newest.number, newest.head);
    if (!head.closed && !(await isEnd(log, stream, newest, head, below))) {
      await learnRoot(log, stream, chain, isWhole ? rows : undefined);
      return chain;
    }
  }
  while (linkBelow(chain, rows) && !isWhole && !chain.knowsRemembered()) {
    rows = await log.read(stream, chain.links[0]?.number ?? 0, ROWS_AT_FIRST, true);
    isWhole = rows.length < ROWS_AT_FIRST;
  }
  if (isAlive(chain.end, clock.wall())) {
    if (!chain.knowsRemembered()) {
      throw new MissingRow((chain.links[0] ?? chain.end).number - 1, chain.end);
    }
    chain.top = topOf(chain.end, chain.links);
    return chain;
  }
  await learnRoot(log, stream, chain, isWhole ? rows : undefined);
  return chain;
}

/** Finds the newest root: among rows that reach down to it, or by a read. */
async function learnRoot(
  log: RecordLog,
  stream: string,
  chain: Chain,
  rows?: readonly LogRow[],
): Promise<void> {
  const roots = rows ?? (await log.read(stream, FIRST_ROW, 1, true));
  const newest = roots.find(({ number }) => number < FIRST_ROW);
  chain.root = newest && { head: decodeHead(newest.number, newest.head), expiresAt: newest.expiresAt };
  chain.knowsRoot = true;
}

/** Adds rows, highest first, below the links of a chain; false if a row is not linked. */
function linkBelow(chain: Chain, rows: readonly LogRow[]): boolean {
  const below: Link[] = [];
  let [above] = chain.links;
  let isBroken = false;
  for (const { number, head: text } of rows) {
    if (number < FIRST_ROW) break;
    // Damage in a deleted thread is irrelevant.
    const head = chain.end?.closed ? decodeHeadIfSound({ number, head: text }) : decodeHead(number, text);
    if (!head) return false;
    const link = linkOf(head);
    isBroken = above !== undefined && !isLinked(above, link);
    if (isBroken) break;
    chain.end ??= head;
    below.push(link);
    above = link;
  }
  chain.links = [...below.reverse(), ...chain.links];
  return !isBroken;
}

/** The newest messages, as far as links tell of them. */
function topOf(end: Head, links: readonly Link[]): Run[] {
  const byNumber = new Map(links.map((link) => [link.number, link]));
  const runs: Run[] = [];
  let low = end.bounds[1];
  for (let row = end.newest; row !== undefined && low > end.bounds[0]; ) {
    const link = byNumber.get(row);
    const run = link && runOf(link, end, low);
    if (!run) break;
    runs.push(run);
    low = run.from;
    row = run.link.back;
  }
  return runs.reverse();
}
