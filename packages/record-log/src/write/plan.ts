// Exceeds 300 lines because each field of the next head is planned from the same inputs, and the fields must agree.

import {
  kindOfRecord,
  planCommit,
  REMEMBERED_OPERATIONS,
  SequenceBounds,
  type TrimSearch,
} from "@scrollback/store-core/driver";
import type { MessageKind } from "@scrollback/store-core/internal";
import type { Chain } from "../chain/chain.ts";
import { locate, locateFromEnd } from "../chain/locate.ts";
import { FIRST_ROW } from "../record-log.ts";
import type { Fragment, RowRange, Spot, TextRange, Upload } from "../rows/field-types.ts";
import { boundsOf, type Head, spotsIn } from "../rows/format.ts";
import { spotsOf, textRangesOf } from "../rows/fragments.ts";
import { isInRanges, joined, mergeRanges, rowAlone, subtractRanges } from "../rows/ranges.ts";
import type { RowRequest } from "./group.ts";

/** The number of the row that is inserted on `head`. */
export function nextNumber(head: Head): number {
  return head.number < FIRST_ROW ? (head.base ?? 0) : head.number + 1;
}

/** The lowest row that a thread needs for what it shows. */
export function lowestRow(head: Head): number {
  const rows = [
    head.bottom,
    ...(head.uploads ?? []).flatMap(([, , ranges]) => ranges.map(([from]) => from)),
    ...spotsIn(head).map(([row]) => row),
  ];
  return rows.reduce((lowest, row) => Math.min(lowest, row));
}

/** The row after `head` that repeats its state and commits nothing. */
export function repeatHead(head: Head, token: string, changes: Partial<Head>): Head {
  const { operationId, digest, earlier, start, kinds, setsMetadata, back, fragments, base, ...state } = head;
  return { ...state, number: nextNumber(head), token, predecessor: head.token, ...changes };
}

/** The content of a commit's row: its head, and its texts, `""` for those that the commit itself trims. */
export interface PlannedRow {
  readonly head: Head;
  readonly texts: readonly string[];
}

/** The input of a plan. */
export interface PlanOptions {
  readonly token: string;
  /** Log time. */
  readonly at: number;
  readonly expiresAt: number | undefined;
  readonly keptUntil: number | undefined;
  readonly promisedUntil: number | undefined;
  /** The upload whose fragments hold the commit's texts, and those fragments. */
  readonly upload: { readonly token: string; readonly fragments: readonly Fragment[] } | undefined;
  /** The texts and rows that are blank and not freed yet, if the head below the new row was just collected. */
  readonly collected: { readonly spent: readonly RowRange[] } | undefined;
}

/**
 * Plans the row of a commit on `base`: the state of the thread after it, and the texts and rows that are dead then.
 *
 * @throws NotLocated for a message that the plan needs.
 */
export function planRow(chain: Chain, base: Head, request: RowRequest, options: PlanOptions): PlannedRow {
  const number = nextNumber(base);
  const before = boundsOf(base);
  const n = base.n + (request.commits?.length ?? 1);
  const plan = planBounds(chain, before, request, searchOf(base));
  const { kept, bounds } = plan;
  let kinds = "";
  for (const record of request.append) kinds += kindOfRecord(record);
  const setsMetadata = typeof request.metadata === "string";
  const own = { number, fragments: options.upload?.fragments };
  const count = kinds.length + (setsMetadata ? 1 : 0);
  const texts = request.append.map((record, index) =>
    SequenceBounds.isWithin(bounds, kept.next + index) ? record : "",
  );
  if (setsMetadata) texts.push(request.metadata ?? "");

  const placeOf = (sequence: number | null) => pinnedAfter(chain, base, sequence, kept.next, own, count);
  const [pinned, compaction] = [placeOf(bounds.pinned), placeOf(bounds.compaction)];
  const metadata = setsMetadata
    ? spotsOf(own, kinds.length, count)
    : request.metadata === null
      ? undefined
      : base.metadata;
  const uploads = uploadsAfter(base, request, options.upload?.token);
  const spots = spotsIn({ pinned, compaction, metadata });
  /** Rows below the commit's own that messages need or may need. */
  const open = uploads.open.flatMap(([, , rows]) => rows);
  for (const [row] of own.fragments ?? []) open.push(rowAlone(row));
  const dropped = afterDrop(chain, base, request, plan, number, open);
  const trimmed = afterTrim(chain, plan, own, dropped, spotsIn({ pinned, compaction }), open);
  const dead = subtractRanges(joined(dropped.dead, trimmed.dead), open);
  const { bottom } = trimmed;
  const places = deadPlaces(base, spots, dead, bottom);
  // They are in the fragments nevertheless, which were inserted before this was known.
  const trimmedAtOnce = own.fragments
    ? blankRunsOf(texts).flatMap(([from, to]) => textRangesOf(own, from, to).slice(1))
    : NONE;
  const newest = bounds.next === bounds.first ? undefined : kinds === "" ? dropped.newest : number;
  const { collected } = options;
  const head: Head = {
    number,
    token: options.token,
    predecessor: base.token,
    root: base.root,
    incarnation: base.incarnation,
    n,
    at: options.at,
    createdAt: base.n === 0 ? request.createdAt : base.createdAt,
    operationId: request.operationId,
    digest: request.digest,
    earlier: request.commits?.slice(0, -1).map(({ operationId, digest }) => [operationId, digest] as const),
    updatedAt: request.updatedAt,
    start: kept.next,
    kinds,
    setsMetadata: setsMetadata ? 1 : undefined,
    back: dropped.newest,
    fragments: own.fragments,
    bounds: [bounds.first, bounds.next],
    pinned,
    compaction,
    metadata,
    newest,
    edge: trimmed.edge,
    bottom,
    cut: request.drop === 0 ? base.cut : number,
    searched: searchedBy(plan),
    expiresAt: options.expiresAt,
    keptUntil: options.keptUntil,
    promisedUntil: options.promisedUntil,
    blank: joined(collected ? NONE : base.blank, dropped.blank, trimmed.blank, places.blank, trimmedAtOnce),
    free: mergeRanges(
      joined(
        collected ? NONE : base.free,
        spots.length === 0
          ? dead
          : subtractRanges(
              dead,
              spots.map(([row]) => rowAlone(row)),
            ),
        places.free,
        uploads.gone,
        // A row without content is never read; only its key is needed.
        count === 0 ? [rowAlone(number)] : NONE,
      ),
    ),
    spent: collected ? collected.spent : base.spent,
    uploads: uploads.open,
  };
  return { head, texts: own.fragments ? texts.map((text) => (text === "" ? "" : PLACEHOLDER)) : texts };
}

type BoundsPlan = Pick<ReturnType<typeof planCommit>, "kept" | "bounds" | "search">;

function searchOf({ searched }: Head): TrimSearch | undefined {
  if (!searched) return undefined;
  const [userless, startless, newestCompaction] = searched;
  return { userless, startless, newestCompaction };
}

/** Undefined if it says nothing of the messages that are kept, as with a user message at their start. */
function searchedBy({ bounds, search }: BoundsPlan): Head["searched"] {
  const { userless, startless, newestCompaction } = search;
  const isEmpty = userless <= bounds.first && startless <= bounds.first && newestCompaction === 0;
  return isEmpty ? undefined : [userless, startless, newestCompaction];
}

const NONE: readonly never[] = [];

function blankRunsOf(texts: readonly string[]): RowRange[] {
  return mergeRanges(texts.flatMap((text, index) => (text === "" ? [rowAlone(index)] : [])));
}

/** The placeholder in a commit's row for a text that is in fragments. */
const PLACEHOLDER = "#";

/**
 * Plans the sequence numbers after a row. Commits that share it are planned one after the other, because trimming them at once can
 * keep other messages: each trimming begins with what the last one kept.
 */
function planBounds(
  chain: Chain,
  before: SequenceBounds,
  request: RowRequest,
  known: TrimSearch | undefined,
): BoundsPlan {
  const kindOf = (sequence: number, kept: SequenceBounds) =>
    kindAt(chain, request, sequence, kept, before.next);
  const { commits } = request;
  const [first = request, ...rest] = commits ?? [];
  let plan = planCommit(before, first, first, kindOf, known);
  for (const commit of rest) plan = planCommit(plan.bounds, commit, commit, kindOf, plan.search);
  return commits ? { ...plan, kept: before } : plan;
}

/** @param next the sequence number of the row's first message. */
function kindAt(
  chain: Chain,
  request: RowRequest,
  sequence: number,
  { pinned, compaction }: SequenceBounds,
  next: number,
): MessageKind {
  if (sequence === pinned) return "s";
  if (sequence === compaction) return "k";
  const appended = request.append[sequence - next];
  if (appended !== undefined) return kindOfRecord(appended);
  const { link } = locate(chain, sequence);
  return (link.kinds?.[sequence - (link.start ?? 0)] ?? "o") as MessageKind;
}

interface Own {
  readonly number: number;
  readonly fragments: readonly Fragment[] | undefined;
}

function pinnedAfter(
  chain: Chain,
  base: Head,
  sequence: number | null,
  next: number,
  own: Own,
  count: number,
): Head["pinned"] {
  if (sequence === null) return undefined;
  const known = [base.pinned, base.compaction].find((pinned) => pinned?.[0] === sequence);
  if (known) return known;
  if (sequence >= next) return [sequence, spotsOf(own, sequence - next, count)];
  const { link } = locate(chain, sequence);
  return [sequence, spotsOf(link, sequence - (link.start ?? 0), link.textCount)];
}

const NO_UPLOADS = { open: NONE, gone: NONE };

function uploadsAfter(
  base: Head,
  request: RowRequest,
  own: string | undefined,
): { open: readonly Upload[]; gone: readonly RowRange[] } {
  if (!base.uploads || base.uploads.length === 0) return NO_UPLOADS;
  const others = base.uploads.filter(([token]) => token !== own);
  const isGone = ([, n]: Upload) => request.drop === "all" || n <= base.n + 1 - REMEMBERED_OPERATIONS;
  return {
    open: others.filter((upload) => !isGone(upload)),
    gone: others.filter(isGone).flatMap(([, , rows]) => rows),
  };
}

interface AfterDrop {
  /** The row of the newest remaining message. */
  readonly newest: number | undefined;
  readonly edge: number;
  readonly bottom: number;
  readonly dead: readonly RowRange[];
  readonly blank: readonly TextRange[];
}

function afterDrop(
  chain: Chain,
  base: Head,
  request: RowRequest,
  { kept }: BoundsPlan,
  number: number,
  open: readonly RowRange[],
): AfterDrop {
  const { edge, bottom, newest } = base;
  if (kept.next === kept.first) {
    // No message remains below this row.
    return {
      newest: undefined,
      edge: number,
      bottom: lowestOf(number, bottom, open),
      dead: [[bottom, number]],
      blank: [],
    };
  }
  if (request.drop === 0 || kept.next === base.bounds[1])
    return { newest, edge, bottom, dead: [], blank: [] };
  const { link } = locateFromEnd(chain, kept.next - 1);
  const { start = 0, kinds = "" } = link;
  const fragments = chain.top
    .filter(({ from }) => from >= kept.next)
    .flatMap((run) => (run.link.fragments ?? []).map(([row]) => rowAlone(row)));
  return {
    newest: link.number,
    edge,
    bottom,
    dead: [[link.number + 1, number], ...fragments],
    blank: kept.next < start + kinds.length ? textRangesOf(link, kept.next - start, kinds.length) : [],
  };
}

/** The lowest of `row` and of `others` from `bottom` on. */
function lowestOf(row: number, bottom: number, others: readonly RowRange[]): number {
  return others.reduce((lowest, [from]) => (from >= bottom ? Math.min(lowest, from) : lowest), row);
}

function afterTrim(
  chain: Chain,
  { kept, bounds }: BoundsPlan,
  own: Own,
  dropped: AfterDrop,
  pinned: readonly Spot[],
  open: readonly RowRange[],
): { edge: number; bottom: number; dead: readonly RowRange[]; blank: readonly TextRange[] } {
  const { edge, bottom } = dropped;
  if (bounds.first <= kept.first) return { edge, bottom, dead: [], blank: [] };
  const link = bounds.first < kept.next ? locate(chain, bounds.first).link : undefined;
  const newEdge = link?.number ?? own.number;
  // A commit above the new edge may have fragments below it: they were open uploads when the edge was inserted.
  const above = link ? [...(link.fragments ?? []).map(([row]) => rowAlone(row)), ...link.openRows] : open;
  const start = link?.start ?? 0;
  const from = Math.max(0, kept.first - start);
  const pinnedHere = pinned.filter(([row]) => row === link?.number).map(([, index]) => rowAlone(index));
  const blank =
    link && from < bounds.first - start
      ? subtractRanges([[from, bounds.first - start]], pinnedHere).flatMap(([low, high]) =>
          textRangesOf(link, low, high),
        )
      : [];
  return {
    edge: newEdge,
    bottom: lowestOf(newEdge, bottom, above),
    dead: subtractRanges([[bottom, newEdge]], above),
    blank,
  };
}

/**
 * The dead texts and rows around the spots of the pinned messages and the metadata: the spots that are given up, and the
 * other texts of rows that are dead except for a spot that stays.
 */
function deadPlaces(
  base: Head,
  live: readonly Spot[],
  dead: readonly RowRange[],
  bottom: number,
): { blank: TextRange[]; free: RowRange[] } {
  const blank: TextRange[] = [];
  const free: RowRange[] = [];
  for (const [row, , count] of live) {
    if (!isInRanges(dead, row)) continue;
    const kept = live.filter((spot) => spot[0] === row).map(([, index]) => rowAlone(index));
    for (const [from, to] of subtractRanges([[0, count]], kept)) blank.push([row, from, to]);
  }
  for (const [row, index, count] of spotsIn(base)) {
    if (live.some((spot) => spot[0] === row && spot[1] === index)) continue;
    const isLastOfRow = (count === 1 || row < bottom) && !live.some((spot) => spot[0] === row);
    if (isLastOfRow) free.push(rowAlone(row));
    else blank.push([row, index, index + 1]);
  }
  return { blank, free };
}
