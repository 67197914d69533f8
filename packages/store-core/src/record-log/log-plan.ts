import { type CommitRequest, REMEMBERED_OPERATIONS } from "../driver.ts";
import type { MessageKind } from "../message.ts";
import { kindOfRecord } from "../record.ts";
import {
  countOf,
  EMPTY_EXTENT,
  type Extent,
  isWithin,
  planCommit,
  type CommitPlan as SequencePlan,
} from "../trimming.ts";
import { isAlive, type LogChain, placeOf, rememberedCommits, runOf, runsBySequence } from "./log-chain.ts";
import {
  type Discard,
  type LogCommit,
  type LogHead,
  mergeRanges,
  type RowRange,
  type TextPlace,
  type ThreadEnd,
} from "./log-record.ts";

/** What was dead is blanked at every so-manieth commit, so that nothing waits for longer than twice that. */
export const COLLECT_EVERY = 32;

/** What a thread is before its next commit: its last row if it is there, and nothing otherwise. */
export function currentOf(chain: LogChain, now: number): LogHead | undefined {
  const end = chain.heads[0];
  return isAlive(end, now) ? end : undefined;
}

/** The lowest sequence number whose row a commit has to know, so that {@link planRow} can plan it. */
export function lowestNeeded(chain: LogChain, request: CommitRequest, now: number): number {
  const extent = currentOf(chain, now)?.end.extent ?? EMPTY_EXTENT;
  const kept =
    typeof request.drop === "number" ? Math.max(extent.first, extent.next - request.drop) : extent.next;
  const drops = kept < extent.next && kept > extent.first ? kept - 1 : extent.next;
  const { maxMessages = Number.POSITIVE_INFINITY } = request;
  const cut = kept + request.append.length - maxMessages;
  return Math.min(drops, cut > extent.first ? cut : extent.next);
}

/** Whether a commit may pin the thread's first message, so that its row must be known too. */
export function mayPin(chain: LogChain, request: CommitRequest, now: number): boolean {
  const extent = currentOf(chain, now)?.end.extent;
  if (!extent || extent.pinned !== null || request.trimming !== "turns" || request.drop === "all")
    return false;
  const { maxMessages = Number.POSITIVE_INFINITY } = request;
  const grown = countOf(extent) - request.drop + request.append.length;
  return maxMessages >= 2 && grown > maxMessages && extent.next - request.drop > extent.first;
}

/** The next row, without its number, token and base. */
export interface PlannedRow {
  readonly epoch: string;
  readonly n: number;
  readonly commit: LogCommit;
  readonly end: ThreadEnd;
  /** The texts to store: the messages (blank where the commit itself trims them), then the metadata if it sets one. */
  readonly texts: readonly string[];
}

/**
 * Plans the row of a commit.
 *
 * @param number the number that the row gets.
 * @param leading the row of the thread's first message, where {@link mayPin} asked for it.
 * @param isCollected whether what the last row tells of as discarded has been blanked by now.
 * @param token of the commit's own parts.
 */
export function planRow(
  chain: LogChain,
  request: CommitRequest,
  number: number,
  now: number,
  leading: LogHead | undefined,
  isCollected: boolean,
  token: string | undefined,
): PlannedRow {
  const last = chain.heads[0];
  const current = currentOf(chain, now);
  const findRun = runsBySequence(chain);
  const plan = planCommit(current?.end.extent ?? EMPTY_EXTENT, request, request, (sequence, kept) =>
    kindAt(findRun, request, leading, sequence, kept),
  );
  const { kept, extent } = plan;
  const kinds = request.append.map(kindOfRecord).join("");
  const texts = request.append.map((record, index) => (isWithin(extent, kept.next + index) ? record : ""));
  if (typeof request.metadata === "string") texts.push(request.metadata);

  const n = (current?.n ?? 0) + 1;
  const metadataAt =
    request.metadata === undefined
      ? current?.end.metadataAt
      : request.metadata === null
        ? undefined
        : { row: number, index: kinds.length, count: kinds.length + 1 };
  const pinnedAt = pinnedPlace(chain, plan, number, current, leading, texts.length);
  const dead = current
    ? discardsOf(chain, plan, number, current, { pinnedAt, metadataAt })
    : { firstRow: number, previous: 0, discards: discardsOfEpoch(last) };
  const drops = request.drop !== 0 || !current;
  const expiresAt = request.ttlMs === undefined ? undefined : now + request.ttlMs;
  const carried = splitDiscards(last, isCollected, oldestRemembered(chain, n));
  const others = (last?.end.staged ?? []).filter(([staged]) => staged !== token);
  // A commit that was overtaken so often starts over when it learns that its parts are condemned.
  const isCondemned = (since: number) => !current || since <= n - REMEMBERED_OPERATIONS;
  const condemned = others.flatMap(([staged, since]) => (isCondemned(since) ? [staged] : []));
  return {
    epoch: current?.epoch ?? request.newEpoch,
    n,
    commit: {
      operationId: request.operationId,
      digest: request.digest,
      start: kept.next,
      kinds,
      previous: drops ? dead.previous : undefined,
    },
    end: {
      extent,
      firstRow: dead.firstRow,
      cut: drops ? number : (current?.end.cut ?? 0),
      pinnedAt,
      metadataAt,
      expiresAt,
      latest: Math.max(current?.end.latest ?? 0, expiresAt ?? Number.POSITIVE_INFINITY),
      lease: last?.end.lease,
      discarded: mergeDiscards([...carried.discarded, ...dead.discards, ...condemned]),
      // A row without content is never seen; only its key is needed.
      spent: mergeRanges(...carried.spent, ...(texts.length === 0 ? [[number, number] as const] : [])),
      staged: others.filter(([, since]) => !isCondemned(since)),
      hasParts: token !== undefined || (last?.end.hasParts ?? false),
    },
    texts,
  };
}

/** The lowest row that a thread's memory of operation ids needs once it is at commit `n`; 0 while it needs all. */
export function oldestRemembered(chain: LogChain, n: number): number {
  if (n <= REMEMBERED_OPERATIONS)
    return chain.heads.findLast((head) => head.epoch === chain.heads[0]?.epoch)?.number ?? 0;
  return rememberedCommits(chain).at(-1)?.number ?? 0;
}

function splitDiscards(last: LogHead | undefined, isCollected: boolean, oldest: number) {
  if (!last) return { discarded: [], spent: [] };
  const { discarded, spent } = last.end;
  if (!isCollected) return { discarded, spent };
  // What is blanked and below was given its expiry by the same collection.
  return { discarded: [], spent: rangesFrom([...spent, ...discarded.filter(isRange)], oldest) };
}

/** What of ranges lies at `from` and above. */
export function rangesFrom(ranges: readonly RowRange[], from: number): RowRange[] {
  return ranges.filter((range) => range[1] >= from).map(([first, last]) => [Math.max(first, from), last]);
}

/** What of ranges lies below `to`. */
export function rangesBelow(ranges: readonly RowRange[], to: number): RowRange[] {
  return ranges.filter((range) => range[0] < to).map(([first, last]) => [first, Math.min(last, to - 1)]);
}

/** Whether a discard is of whole rows. */
export function isRange(discard: Discard): discard is RowRange {
  return typeof discard !== "string" && discard.length === 2;
}

function mergeDiscards(discards: readonly Discard[]): Discard[] {
  return [...mergeRanges(...discards.filter(isRange)), ...discards.filter((discard) => !isRange(discard))];
}

function kindAt(
  findRun: ReturnType<typeof runsBySequence>,
  request: CommitRequest,
  leading: LogHead | undefined,
  sequence: number,
  kept: Extent,
): MessageKind {
  if (sequence === kept.pinned) return "s";
  const appended = request.append[sequence - kept.next];
  if (appended !== undefined) return kindOfRecord(appended);
  const commit = (findRun(sequence) ?? leading)?.commit;
  return (commit?.kinds[sequence - commit.start] ?? "o") as MessageKind;
}

function pinnedPlace(
  chain: LogChain,
  { kept, extent }: SequencePlan,
  number: number,
  current: LogHead | undefined,
  leading: LogHead | undefined,
  texts: number,
): TextPlace | undefined {
  if (extent.pinned === null) return undefined;
  if (extent.pinned === current?.end.extent.pinned) return current.end.pinnedAt;
  if (extent.pinned >= kept.next) return { row: number, index: extent.pinned - kept.next, count: texts };
  const run = runOf(chain, extent.pinned);
  if (run) return placeOf(run, extent.pinned);
  if (!leading?.commit) return undefined;
  return placeOf({ head: leading, commit: leading.commit, from: 0, to: 0 }, extent.pinned);
}

/** All that a thread which is gone had: nothing of it is seen any more. */
function discardsOfEpoch(last: LogHead | undefined): Discard[] {
  if (!last) return [];
  const { firstRow, pinnedAt, metadataAt } = last.end;
  const rows: Discard[] = last.n > 0 ? [[firstRow, last.number]] : [];
  for (const place of [pinnedAt, metadataAt]) if (place) rows.push([place.row, place.row]);
  return rows;
}

function discardsOf(
  chain: LogChain,
  { kept, extent }: SequencePlan,
  number: number,
  current: LogHead,
  now: Pick<ThreadEnd, "pinnedAt" | "metadataAt">,
): { firstRow: number; previous: number; discards: Discard[] } {
  const before = current.end;
  const discards: Discard[] = [];
  let firstRow = before.firstRow;
  let previous = current.number;
  if (kept.next < before.extent.next || kept.first > before.extent.first) {
    const run = kept.next > kept.first ? runOf(chain, kept.next - 1) : undefined;
    previous = run?.head.number ?? 0;
    if (run) {
      const from = kept.next - run.commit.start;
      if (from < run.commit.kinds.length) discards.push([previous, from, run.commit.kinds.length]);
    } else {
      firstRow = number;
    }
    discards.push([run ? previous + 1 : before.firstRow, number - 1]);
  } else if (before.extent.first === before.extent.next) {
    firstRow = number;
  }
  if (extent.first > kept.first) {
    const run = extent.first < kept.next ? runOf(chain, extent.first) : undefined;
    const newFirst = run?.head.number ?? number;
    if (run && extent.first > run.commit.start) discards.push([newFirst, 0, extent.first - run.commit.start]);
    discards.push([firstRow, newFirst - 1]);
    firstRow = newFirst;
  }
  discards.push(...discardOf(before.pinnedAt, now.pinnedAt, firstRow));
  discards.push(...discardOf(before.metadataAt, now.metadataAt, firstRow));
  return {
    firstRow,
    previous,
    discards: discards.filter((discard) => !isRange(discard) || discard[0] <= discard[1]),
  };
}

function discardOf(before: TextPlace | undefined, after: TextPlace | undefined, firstRow: number): Discard[] {
  if (!before || (before.row === after?.row && before.index === after.index)) return [];
  const isLast = before.count === 1 || before.row < firstRow;
  return isLast ? [[before.row, before.row]] : [[before.row, before.index, before.index + 1]];
}
