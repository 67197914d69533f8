import { MISSING_MESSAGE, type ThreadEntry } from "../codec/record.ts";
import { StoreError } from "../errors.ts";

/**
 * The sequence numbers of a thread: `first` to `next - 1`, preceded by the pinned messages, which trimming kept although it
 * removed messages after them.
 */
export interface SequenceBounds {
  /** The sequence number of a pinned leading system message, or `null`. */
  readonly pinned: number | null;
  /** The sequence number of a pinned compaction item, or `null`. It comes after a pinned system message. */
  readonly compaction: number | null;
  readonly first: number;
  /** The sequence number of the next message. */
  readonly next: number;
}

/** A run of sequence numbers, `from` to `to - 1`. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** If more messages than this are missing, the read fails instead of returning one without text for each. */
const MOST_MISSING = 10_000;

/** Computations with bounds. */
export const SequenceBounds = /* @__PURE__ */ Object.freeze({
  /** The bounds of a thread that was never written. */
  EMPTY: Object.freeze({
    pinned: null,
    compaction: null,
    first: 1,
    next: 1,
  }) satisfies SequenceBounds as SequenceBounds,

  /** The sequence numbers of the pinned messages within bounds, in order. */
  pinnedOf({ pinned, compaction }: SequenceBounds): number[] {
    if (compaction === null) return pinned === null ? [] : [pinned];
    return pinned === null ? [compaction] : [pinned, compaction];
  },

  /** The number of messages within bounds. */
  countOf({ pinned, compaction, first, next }: SequenceBounds): number {
    return next - first + (pinned === null ? 0 : 1) + (compaction === null ? 0 : 1);
  },

  /** The sequence number of the oldest message; meaningless for bounds without messages. */
  firstOf({ pinned, compaction, first }: SequenceBounds): number {
    return pinned ?? compaction ?? first;
  },

  /** The sequence number of the newest message; meaningless for bounds without messages. */
  lastOf({ pinned, compaction, first, next }: SequenceBounds): number {
    return next > first ? next - 1 : (compaction ?? pinned ?? 0);
  },

  /** Whether a sequence number lies within bounds. */
  isWithin({ pinned, compaction, first, next }: SequenceBounds, sequence: number): boolean {
    return sequence === pinned || sequence === compaction || (sequence >= first && sequence < next);
  },

  /** The sequence numbers within `bounds` and outside `other`: those that a commit removes, or need not write of an append. */
  rangesOutside(bounds: SequenceBounds, other: SequenceBounds): Range[] {
    const { first, next } = bounds;
    const pinned = SequenceBounds.pinnedOf(bounds).filter(
      (sequence) => !SequenceBounds.isWithin(other, sequence),
    );
    let ranges = [
      ...pinned.map((sequence) => ({ from: sequence, to: sequence + 1 })),
      { from: first, to: Math.min(next, other.first) },
      { from: Math.max(first, other.next, other.first), to: next },
    ];
    for (const sequence of SequenceBounds.pinnedOf(other))
      ranges = ranges.flatMap((range) => without(range, sequence));
    return ranges.filter(({ from, to }) => from < to);
  },

  /** The part of the bounds that a read asks for: the sequence numbers of pinned messages, then a range. */
  selectRange(
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
    let pinned = SequenceBounds.pinnedOf(bounds).filter((sequence) => sequence > after && sequence < before);
    if (request.after === undefined) {
      const rest = Math.max(0, limit - (next - first));
      pinned = pinned.slice(Math.max(0, pinned.length - rest));
      first = Math.max(first, next - limit);
    } else {
      pinned = pinned.slice(0, limit);
      next = Math.min(next, first + limit - pinned.length);
    }
    const selected = (sequence: number | null) =>
      sequence !== null && pinned.includes(sequence) ? sequence : null;
    return {
      pinned: selected(bounds.pinned),
      compaction: selected(bounds.compaction),
      first,
      next: Math.max(first, next),
    };
  },

  /**
   * The messages within bounds, for a backend with a row per message: those that were found, in order, and one without text for each that is
   * missing. That makes it visible; leaving it out would hide it.
   *
   * @throws StoreError `CORRUPT` if more than 10,000 are missing.
   */
  withMissing(bounds: SequenceBounds, found: readonly ThreadEntry[]): readonly ThreadEntry[] {
    const missing = SequenceBounds.countOf(bounds) - found.length;
    if (missing === 0) return found;
    if (missing > MOST_MISSING) {
      throw new StoreError(
        "CORRUPT",
        `the thread is damaged: ${missing} of ${SequenceBounds.countOf(bounds)} messages are missing`,
      );
    }
    const { first, next } = bounds;
    const messages = new Map(found.map((message) => [message.sequence, message]));
    const sequences = Array.from({ length: next - first }, (_, index) => first + index);
    sequences.unshift(...SequenceBounds.pinnedOf(bounds));
    return sequences.map((sequence) => messages.get(sequence) ?? { sequence, ...MISSING_MESSAGE });
  },
});

function without(range: Range, sequence: number): Range[] {
  if (sequence < range.from || sequence >= range.to) return [range];
  return [
    { from: range.from, to: sequence },
    { from: sequence + 1, to: range.to },
  ];
}
