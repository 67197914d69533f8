import type { MessageKind } from "./message.ts";

/**
 * How a history is cut to `maxMessages`.
 *
 * - `"turns"`: what is kept is a history that a model's API accepts. A leading system message is kept and counted (from
 *   `maxMessages` 2 on). The kept tail starts at the earliest user message among the newest that fit; where there is none,
 *   at the earliest message that is no tool result; where there is none, at the raw cut.
 * - `"exact"`: the newest `maxMessages`, wherever that cuts.
 */
export type Trimming = (typeof trimmings)[number];

/** All values of {@link Trimming}. */
export const trimmings = Object.freeze(["turns", "exact"] as const);

/** Which sequence numbers a thread has: `first` to `next - 1`, and before them perhaps one leading system message. */
export interface Extent {
  /** The sequence number of a leading system message that trimming kept while what followed it went, or `null`. */
  readonly pinned: number | null;
  readonly first: number;
  /** The sequence number that the next message gets. */
  readonly next: number;
}

/** The extent of a thread that was never written. */
export const EMPTY_EXTENT: Extent = Object.freeze({ pinned: null, first: 1, next: 1 });

/** How many messages an extent has. */
export function countOf(extent: Extent): number {
  return extent.next - extent.first + (extent.pinned === null ? 0 : 1);
}

/** The sequence number of the oldest message; meaningless for an extent without messages. */
export function firstOf(extent: Extent): number {
  return extent.pinned ?? extent.first;
}

/** The sequence number of the newest message; meaningless for an extent without messages. */
export function lastOf(extent: Extent): number {
  return extent.next > extent.first ? extent.next - 1 : (extent.pinned ?? 0);
}

/** What is left of an extent when it is cut to `maxMessages`. Asks for the kinds of as few messages as it can. */
export function trim(
  extent: Extent,
  maxMessages: number | undefined,
  trimming: Trimming,
  kindAt: (sequence: number) => MessageKind,
): Extent {
  if (maxMessages === undefined || countOf(extent) <= maxMessages) return extent;
  if (trimming === "exact") return { pinned: null, first: extent.next - maxMessages, next: extent.next };
  const leading = firstOf(extent);
  const pinned = maxMessages >= 2 && kindAt(leading) === "s" ? leading : null;
  const cut = extent.next - maxMessages + (pinned === null ? 0 : 1);
  let noToolResult: number | undefined;
  for (let sequence = cut; sequence < extent.next; sequence++) {
    const kind = kindAt(sequence);
    if (kind === "u") return { pinned, first: sequence, next: extent.next };
    if (kind !== "t") noToolResult ??= sequence;
  }
  return { pinned, first: noToolResult ?? cut, next: extent.next };
}

/** What a commit does to a thread's sequence numbers. */
export interface CommitPlan {
  /** The thread's extent once dropped, before anything is appended. */
  readonly kept: Extent;
  /** The thread's extent after the commit. Appended messages have the numbers from `kept.next` on. */
  readonly extent: Extent;
}

/**
 * Plans a commit. A number dropped from the end is given again; after a drop of `"all"` the numbers go on, so that a
 * reader that waits for more misses nothing. Messages that are in the old extent (or appended) and not in the new one
 * are to be removed.
 *
 * @param kindAt the kind of a message, by sequence number, of the thread as it is once dropped and appended.
 */
export function planCommit(
  extent: Extent,
  change: { readonly drop: number | "all"; readonly append: readonly unknown[] },
  limits: { readonly maxMessages: number | undefined; readonly trimming: Trimming },
  kindAt: (sequence: number, kept: Extent) => MessageKind,
): CommitPlan {
  const kept = dropFrom(extent, change.drop);
  const grown = { ...kept, next: kept.next + change.append.length };
  return {
    kept,
    extent: trim(grown, limits.maxMessages, limits.trimming, (sequence) => kindAt(sequence, kept)),
  };
}

function dropFrom(extent: Extent, drop: number | "all"): Extent {
  if (drop === "all") return { pinned: null, first: extent.next, next: extent.next };
  const droppable = extent.next - extent.first;
  if (drop <= droppable) return { ...extent, next: extent.next - drop };
  return { pinned: null, first: extent.first, next: extent.first };
}

/** Whether an extent has a sequence number. */
export function isWithin(extent: Extent, sequence: number): boolean {
  return sequence === extent.pinned || (sequence >= extent.first && sequence < extent.next);
}

/** A run of sequence numbers, `from` to `to - 1`. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** What an extent has and another has not: what a commit removes, or what of an append it never has to write. */
export function rangesOutside(extent: Extent, other: Extent): Range[] {
  const { pinned, first, next } = extent;
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

/** The part of an extent that a read asks for, as a list of sequence numbers is: the pinned one, then a range. */
export function selectRange(
  extent: Extent,
  request: {
    readonly limit: number;
    readonly before: number | undefined;
    readonly after: number | undefined;
  },
): Extent {
  const { limit, before = Number.POSITIVE_INFINITY, after = 0 } = request;
  let first = Math.max(extent.first, after + 1);
  let next = Math.max(first, Math.min(extent.next, before));
  let pinned =
    extent.pinned !== null && extent.pinned > after && extent.pinned < before ? extent.pinned : null;
  if (request.after === undefined) {
    if (next - first >= limit) pinned = null;
    first = Math.max(first, next - limit);
  } else {
    if (limit === 0) pinned = null;
    next = Math.min(next, first + limit - (pinned === null ? 0 : 1));
  }
  return { pinned, first, next: Math.max(first, next) };
}
