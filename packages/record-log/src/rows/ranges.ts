import type { RowRange } from "./field-types.ts";

/** The range of one row. */
export function rowAlone(row: number): RowRange {
  return [row, row + 1];
}

/** Sorts ranges, joins adjacent ones and omits empty ones. */
export function mergeRanges(ranges: readonly RowRange[]): RowRange[] {
  if (ranges.length <= 1) return ranges.filter(([from, to]) => from < to);
  const merged: [number, number][] = [];
  const sorted = ranges.filter(([from, to]) => from < to).sort((one, other) => one[0] - other[0]);
  for (const [from, to] of sorted) {
    const last = merged.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

/** The parts of `ranges` outside `others`. */
export function subtractRanges(ranges: readonly RowRange[], others: readonly RowRange[]): RowRange[] {
  if (ranges.length === 0) return [];
  if (others.length === 0) return ranges.filter(([from, to]) => from < to);
  const cuts = mergeRanges(others);
  return ranges.flatMap(([from, to]) => {
    const left: RowRange[] = [];
    let start = from;
    for (const [low, high] of cuts) {
      if (high <= start) continue;
      if (low >= to) break;
      if (start < low) left.push([start, low]);
      start = high;
    }
    if (start < to) left.push([start, to]);
    return left;
  });
}

/** The parts of `ranges` below `row`. */
export function rangesBelow(ranges: readonly RowRange[], row: number): RowRange[] {
  return ranges.flatMap(([from, to]): RowRange[] => (from < row ? [[from, Math.min(to, row)]] : []));
}

export function isInRanges(ranges: readonly RowRange[], row: number): boolean {
  return ranges.some(([from, to]) => from <= row && row < to);
}

const NONE: readonly never[] = [];

/** The elements of several lists. Returns a list itself if the others are empty, as they nearly always are. */
export function joined<T>(...lists: (readonly T[] | undefined)[]): readonly T[] {
  let all: readonly T[] = NONE;
  for (const list of lists) {
    if (list === undefined || list.length === 0) continue;
    all = all.length === 0 ? list : [...all, ...list];
  }
  return all;
}
