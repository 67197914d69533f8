import { StoreError } from "@scrollback/store-core";
import { REMEMBERED_OPERATIONS } from "@scrollback/store-core/driver";
import type { Clock } from "@scrollback/store-core/internal";
import { FIRST_ROW, type LogRow, type RecordLog } from "../record-log.ts";
import { keepsPromise, never } from "../rows/expiry.ts";
import type { RowRange } from "../rows/field-types.ts";
import { type ContentsHead, decodeHeadIfSound, type Head, headFields, textCountOf } from "../rows/format.ts";

const MINUTE = 60_000;
/** The time for which cached state of a log is trusted, measured by two clocks. */
const TRUSTED_MS = 5 * MINUTE;
/** The number of rows that a writer without cached state reads: the remembered commits, and a few rows between them. */
export const ROWS_AT_FIRST = REMEMBERED_OPERATIONS + 16;
const RUNS_KEPT = 128;
/** As many as two reads of heads return. A search of the whole thread leaves more, and each trimming would move them all. */
const OLDEST_RUNS_KEPT = 1_024;
/** The maximum number of attempts to insert a row. */
export const MAX_ATTEMPTS = 200;

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
  return areClose(momentOf(clock), since);
}

/** Whether less than five minutes have passed between two moments, by either clock. */
export function areClose(now: Moment, since: Moment): boolean {
  return Math.abs(now.wall - since.wall) < TRUSTED_MS && now.monotonic - since.monotonic < TRUSTED_MS;
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
    Pick<Head, "token" | "predecessor" | "incarnation" | "n" | "operationId" | "digest" | "earlier"> {}

const NO_ROWS: readonly RowRange[] = [];

export function rowContentsOf(head: ContentsHead): RowContents {
  const { number, start, kinds, back, fragments, uploads } = head;
  const openRows = uploads?.flatMap(([, , rows]) => rows) ?? NO_ROWS;
  return { number, start, kinds, back, fragments, textCount: textCountOf(head), openRows };
}

export function linkOf(head: Head): Link {
  const { token, predecessor, incarnation, n, operationId, digest, earlier } = head;
  return { ...rowContentsOf(head), token, predecessor, incarnation, n, operationId, digest, earlier };
}

/** An operation that was committed. */
export interface CommittedOperation {
  readonly incarnation: string;
  readonly n: number;
  readonly digest?: string | undefined;
}

/** The commit of an operation in a row; undefined if the row has none. */
export function commitIn(link: Link, operationId: string): CommittedOperation | undefined {
  if (link.operationId === operationId) return link;
  const { incarnation, n, earlier } = link;
  if (!earlier) return undefined;
  const index = earlier.findIndex(([id]) => id === operationId);
  const found = earlier[index];
  return found && { incarnation, n: n - earlier.length + index, digest: found[1] };
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

/** Thrown to restart an attempt whose state of the log is wrong or too old. */
export class StartOver extends Error {}

export function tooManyWriters(): StoreError {
  return new StoreError("UNAVAILABLE", `the thread has too many writers: ${MAX_ATTEMPTS} attempts lost`, {
    retryable: true,
  });
}

/**
 * Whether the newest row of a stream is the end of a chain. A root is an end if no row was inserted on it yet, and if it was not freed.
 * Another row needs a proof: the row that it was inserted on, or if that one is missing its root. If the proof was freed, the
 * incarnation was deleted, and the row that closed it too. If both are missing, the row was inserted after that. The stream then has
 * no end.
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
  if (row.number < FIRST_ROW) return keepsPromise(row, head);
  const isProven = isProvenBy(head, below);
  if (isProven !== undefined) return isProven;
  const [root] = await log.read(stream, head.root + 1, 1, true);
  if (root?.number !== head.root || !keepsPromise(root, head)) return false;
  const rootHead = decodeHeadIfSound(root);
  // A damaged root proves that a root existed, which is sufficient here.
  return rootHead === undefined || rootHead.token === head.incarnation;
}

/** Whether a row was inserted on a row that was not freed; undefined if the row below is another one. */
export function isProvenBy(head: Head, below: LogRow | undefined): boolean | undefined {
  return below && holdsToken(below, head.predecessor) ? keepsPromise(below, head) : undefined;
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
    if (this.bottom.length > 2 * OLDEST_RUNS_KEPT) this.bottom.length = OLDEST_RUNS_KEPT;
    this.bottom = cutRuns(this.bottom, head.bounds[0], head.start);
    const run = runOf(link, head, head.bounds[1]);
    if (run) this.top.push(run);
    if (this.top.length > 2 * RUNS_KEPT) this.top.splice(0, this.top.length - RUNS_KEPT);
  }

  /** The rows of the commits whose operation ids are remembered, newest first. */
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
    if (lowest.operationId === undefined) return lowest.n < oldest;
    return lowest.n - (lowest.earlier?.length ?? 0) <= oldest;
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
