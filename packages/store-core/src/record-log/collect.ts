import type { Head, RowRange } from "./format.ts";
import { mergeRanges, rangesBelow, rowAlone, subtractRanges } from "./ranges.ts";
import type { Amendment } from "./record-log.ts";

/** A commit blanks and frees what is dead when its count is a multiple of this. */
export const COLLECT_EVERY = 32;

/** What one collection does, and what heads list once it is done. */
export interface Collection {
  readonly amendments: readonly Amendment[];
  /** Rows that are blank and whose keys are still needed. */
  readonly spent: readonly RowRange[];
}

/** Blanks all that a head declares dead. Its own row is declared dead only where it has no text. */
export function blankDead({ number, blank = [], free: listed = [] }: Head): Amendment[] {
  const free = subtractRanges(listed, [rowAlone(number)]);
  return [
    ...blank.map(([row, from, to]) => ({ from: row, to: row + 1, blank: { from, to } })),
    ...free.map(([from, to]) => ({ from, to, blank: "all" as const })),
  ];
}

/**
 * Plans a collection: all that `head` declares dead is blanked, and the dead rows below `oldest` get an expiry, after which
 * the backend deletes them. Only what a linked row declares dead is touched, so that a plan that comes to nothing did no harm.
 *
 * @param oldest the row of the oldest commit that is remembered: keys from there on are still needed.
 * @param expiresAt when the keys may be taken again.
 */
export function planCollection(head: Head, oldest: number, expiresAt: number): Collection {
  const { free = [], spent = [] } = head;
  const dead = mergeRanges([...free, ...spent]);
  const due = rangesBelow(dead, oldest);
  const amendments = [...blankDead(head), ...due.map(([from, to]) => ({ from, to, expiresAt }))];
  return {
    amendments,
    spent: dead.flatMap(([from, to]): RowRange[] => (to > oldest ? [[Math.max(from, oldest), to]] : [])),
  };
}
