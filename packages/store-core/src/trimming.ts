import type { MessageKind } from "./message.ts";

/**
 * How a history is trimmed to `maxMessages`.
 *
 * - `"turns"`: keeps a history that a model's API accepts. Keeps and counts a leading system message if `maxMessages` is
 *   at least 2. The kept tail starts at the earliest user message among the newest messages that fit. Without a user
 *   message it starts at the earliest message that is not a tool result. Otherwise it starts at the raw cut.
 * - `"exact"`: keeps exactly the newest `maxMessages`.
 */
export type Trimming = (typeof trimmings)[number];

/** All values of {@link Trimming}. */
export const trimmings = Object.freeze(["turns", "exact"] as const);

/** The sequence numbers of a thread: `first` to `next - 1`, preceded by at most one leading system message. */
export interface SequenceBounds {
  /** The sequence number of a leading system message that trimming kept although it removed the messages after it, or `null`. */
  readonly pinned: number | null;
  readonly first: number;
  /** The sequence number of the next message. */
  readonly next: number;
}

/** The bounds of a thread that was never written. */
export const EMPTY_BOUNDS: SequenceBounds = Object.freeze({ pinned: null, first: 1, next: 1 });

/** The number of messages within bounds. */
export function countOf(bounds: SequenceBounds): number {
  return bounds.next - bounds.first + (bounds.pinned === null ? 0 : 1);
}

/** The sequence number of the oldest message; meaningless for bounds without messages. */
export function firstOf(bounds: SequenceBounds): number {
  return bounds.pinned ?? bounds.first;
}

/** The sequence number of the newest message; meaningless for bounds without messages. */
export function lastOf(bounds: SequenceBounds): number {
  return bounds.next > bounds.first ? bounds.next - 1 : (bounds.pinned ?? 0);
}

/**
 * What earlier trimming found out about a thread's messages. A driver keeps it with the thread, so that a commit asks for the kind of
 * no message twice: a thread may be at its limit without a user message, as in a long run of tools.
 */
export interface TrimSearch {
  /** The messages from `first` to `userless - 1` are not user messages. */
  readonly userless: number;
  /** The messages from `first` to `resultsOnly - 1` are tool results. */
  readonly resultsOnly: number;
}

/** For a thread that was never written, or of which nothing is known. */
export const NOT_SEARCHED: TrimSearch = Object.freeze({ userless: 1, resultsOnly: 1 });

/** What remains when a thread is cut to `maxMessages`. Asks for the kinds of as few messages as possible. */
export function trim(
  bounds: SequenceBounds,
  maxMessages: number | undefined,
  trimming: Trimming,
  kindAt: (sequence: number) => MessageKind,
  search = NOT_SEARCHED,
): { readonly bounds: SequenceBounds; readonly search: TrimSearch } {
  if (maxMessages === undefined || countOf(bounds) <= maxMessages) return { bounds, search };
  const { next } = bounds;
  if (trimming === "exact") return { bounds: { pinned: null, first: next - maxMessages, next }, search };
  const leading = firstOf(bounds);
  const isPinned = maxMessages >= 2 && (bounds.pinned !== null || kindAt(leading) === "s");
  const pinned = isPinned ? leading : null;
  const cut = next - maxMessages + (pinned === null ? 0 : 1);
  let userless = Math.max(cut, search.userless);
  while (userless < next && kindAt(userless) !== "u") userless++;
  let resultsOnly = Math.max(cut, search.resultsOnly);
  if (userless === next) while (resultsOnly < next && kindAt(resultsOnly) === "t") resultsOnly++;
  const first = [userless, resultsOnly].find((sequence) => sequence < next) ?? cut;
  return { bounds: { pinned, first, next }, search: { userless, resultsOnly } };
}

/** The effect of a commit on a thread's sequence numbers. */
export interface CommitPlan {
  /** The bounds after the drop, before anything is appended. */
  readonly kept: SequenceBounds;
  /** The bounds after the commit. Appended messages have the numbers from `kept.next` on. */
  readonly bounds: SequenceBounds;
  /** For the plan of the next commit. */
  readonly search: TrimSearch;
}

/**
 * Plans a commit. The numbers of messages that are dropped from the end are reused. After a drop of `"all"` numbering
 * continues, so that a waiting reader misses nothing. The driver must remove messages that are within the old bounds (or
 * appended) and outside the new bounds.
 *
 * @param kindAt returns the kind of a message by its sequence number, in the thread after drop and append.
 * @param search from the plan of the thread's last commit.
 */
export function planCommit(
  bounds: SequenceBounds,
  change: { readonly drop: number | "all"; readonly append: readonly unknown[] },
  limits: { readonly maxMessages: number | undefined; readonly trimming: Trimming },
  kindAt: (sequence: number, kept: SequenceBounds) => MessageKind,
  search = NOT_SEARCHED,
): CommitPlan {
  const kept = dropFrom(bounds, change.drop);
  // Not spread: SQLite's bounds are a row, and copying its other columns takes longer than the plan.
  const grown = { pinned: kept.pinned, first: kept.first, next: kept.next + change.append.length };
  const known = searchBelow(search, kept.next);
  const kindOf = (sequence: number) => kindAt(sequence, kept);
  const after = trim(grown, limits.maxMessages, limits.trimming, kindOf, known);
  return { kept, bounds: after.bounds, search: after.search };
}

/** What is known about the messages before `next`, after those from `next` on were dropped: their numbers are used again. */
function searchBelow({ userless, resultsOnly }: TrimSearch, next: number): TrimSearch {
  return { userless: Math.min(userless, next), resultsOnly: Math.min(resultsOnly, next) };
}

function dropFrom({ pinned, first, next }: SequenceBounds, drop: number | "all"): SequenceBounds {
  if (drop === "all") return { pinned: null, first: next, next };
  return drop <= next - first ? { pinned, first, next: next - drop } : { pinned: null, first, next: first };
}

/** Whether a sequence number lies within bounds. */
export function isWithin(bounds: SequenceBounds, sequence: number): boolean {
  return sequence === bounds.pinned || (sequence >= bounds.first && sequence < bounds.next);
}

/** A run of sequence numbers, `from` to `to - 1`. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** The sequence numbers within `bounds` and outside `other`: those that a commit removes, or need not write of an append. */
export function rangesOutside(bounds: SequenceBounds, other: SequenceBounds): Range[] {
  const { pinned, first, next } = bounds;
  const ranges = [
    { from: first, to: Math.min(next, other.first) },
    { from: Math.max(first, other.next, other.first), to: next },
  ];
  if (pinned !== null && !isWithin(other, pinned)) ranges.unshift({ from: pinned, to: pinned + 1 });
  return ranges.flatMap((range) => without(range, other.pinned)).filter(({ from, to }) => from < to);
}

function without(range: Range, sequence: number | null): Range[] {
  if (sequence === null || sequence < range.from || sequence >= range.to) return [range];
  return [
    { from: range.from, to: sequence },
    { from: sequence + 1, to: range.to },
  ];
}

/** The part of the bounds that a read asks for: the pinned sequence number, then a range. */
export function selectRange(
  bounds: SequenceBounds,
  request: {
    readonly limit: number;
    readonly before: number | undefined;
    readonly after: number | undefined;
  },
): SequenceBounds {
  const { limit, before = Number.POSITIVE_INFINITY, after = 0 } = request;
  let first = Math.max(bounds.first, after + 1);
  let next = Math.max(first, Math.min(bounds.next, before));
  let pinned =
    bounds.pinned !== null && bounds.pinned > after && bounds.pinned < before ? bounds.pinned : null;
  if (request.after === undefined) {
    if (next - first >= limit) pinned = null;
    first = Math.max(first, next - limit);
  } else {
    if (limit === 0) pinned = null;
    next = Math.min(next, first + limit - (pinned === null ? 0 : 1));
  }
  return { pinned, first, next: Math.max(first, next) };
}
