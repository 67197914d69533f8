import type { Clock } from "@scrollback/store-core/internal";
import { FIRST_ROW, type LogRow, type RecordLog } from "../record-log.ts";
import { decodeHead, decodeHeadIfSound, type Head } from "../rows/format.ts";
import {
  Chain,
  isAlive,
  isEnd,
  isProvenBy,
  type Link,
  linkOf,
  MissingRow,
  momentOf,
  ROWS_AT_FIRST,
  type Run,
  runOf,
} from "./chain.ts";

/** The number of rows that a writer with an older end reads. */
const ROWS_TO_CATCH_UP = 8;

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
  const [newest] = heads;
  // The thread may have been deleted, and the row that closed it too.
  if (!newest || !isProvenBy(newest, rows[1])) return false;
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

/** The newest messages, as far as the links contain them. */
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
