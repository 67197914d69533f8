import type { Amendment } from "../record-log.ts";
import type { RowRange } from "../rows/field-types.ts";
import type { Head } from "../rows/format.ts";
import { mergeRanges, rangesBelow, rowAlone, subtractRanges } from "../rows/ranges.ts";

/** A commit blanks and frees what is dead when it raises the count of the thread to a multiple of this, or past one. */
export const COLLECT_EVERY = 32;

/** Whether commits raise the count of a thread to a multiple of {@link COLLECT_EVERY}, or past one. */
export function isCollectionDue(before: number, after: number): boolean {
  return Math.floor(after / COLLECT_EVERY) > Math.floor(before / COLLECT_EVERY);
}

/** The amendments of one collection, and the lists of heads after it. */
export interface Collection {
  readonly amendments: readonly Amendment[];
  /** Blank rows whose keys are still needed. */
  readonly spent: readonly RowRange[];
}

/** Blanks everything that a head declares dead. It declares its own row dead only if the row has no text. */
export function blankDead({ number, blank = [], free: listed = [] }: Head): Amendment[] {
  const free = subtractRanges(listed, [rowAlone(number)]);
  return [
    ...blank.map(([row, from, to]) => ({ from: row, to: row + 1, blank: { from, to } })),
    ...free.map(([from, to]) => ({ from, to, blank: "all" as const })),
  ];
}

/**
 * Plans a collection. Everything that `head` declares dead is blanked. Dead rows below `oldest` get an expiry, after
 * which the backend deletes them. The same amendment blanks them, because some backends change a row once per amendment. Only
 * rows that a linked row declares dead are changed, so an abandoned plan does no harm.
 *
 * @param oldest the row of the oldest commit that is remembered: keys from there on are still needed.
 * @param expiresAt the time from which the keys may be reused.
 */
export function planCollection(head: Head, oldest: number, expiresAt: number): Collection {
  const { free = [], spent = [] } = head;
  const dead = mergeRanges([...free, ...spent]);
  const due = rangesBelow(dead, oldest);
  const amendments = [
    ...blankDead({ ...head, free: subtractRanges(free, due) }),
    ...due.map(([from, to]) => ({ from, to, blank: "all" as const, expiresAt })),
  ];
  return {
    amendments,
    spent: dead.flatMap(([from, to]): RowRange[] => (to > oldest ? [[Math.max(from, oldest), to]] : [])),
  };
}
