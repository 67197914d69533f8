import fc from "fast-check";
import { expect, test } from "vitest";
import {
  countOf,
  EMPTY_EXTENT,
  type Extent,
  firstOf,
  isWithin,
  lastOf,
  type MessageKind,
  planCommit,
  rangesOutside,
  selectRange,
  type Trimming,
  trim,
} from "../src/index.ts";

const kinds = fc.array(fc.constantFrom<MessageKind>("s", "u", "t", "o"), { minLength: 1, maxLength: 30 });
const trimmings = fc.constantFrom<Trimming>("turns", "exact");

/** All sequence numbers of an extent, in order. */
function numbersOf(extent: Extent): number[] {
  const run = Array.from({ length: extent.next - extent.first }, (_, index) => extent.first + index);
  return extent.pinned === null ? run : [extent.pinned, ...run];
}

/** An extent that some history of commits leaves, and the kinds of its messages. */
const extents = fc
  .tuple(fc.boolean(), fc.integer({ min: 1, max: 5 }), kinds)
  .map(([isPinned, first, list]): { extent: Extent; kindAt: (sequence: number) => MessageKind } => ({
    extent: { pinned: isPinned && first > 1 ? 1 : null, first, next: first + list.length },
    kindAt: (sequence) => (isPinned && sequence === 1 && first > 1 ? "s" : (list[sequence - first] ?? "o")),
  }));

test("what trimming keeps fits, is newest, and begins where a turn begins", () => {
  fc.assert(
    fc.property(extents, fc.integer({ min: 1, max: 12 }), trimmings, ({ extent, kindAt }, max, trimming) => {
      const before = numbersOf(extent);
      const after = numbersOf(trim(extent, max, trimming, kindAt));
      if (before.length <= max) expect(after).toEqual(before);
      expect(after.length).toBeLessThanOrEqual(max);
      expect(after.at(-1)).toBe(before.at(-1));
      if (trimming === "exact") expect(after).toEqual(before.slice(-max));
      if (trimming === "exact" || before.length <= max) return;
      const leading = before[0] ?? 0;
      const keepsLeading = max >= 2 && kindAt(leading) === "s";
      expect(after[0] === leading).toBe(keepsLeading);
      const room = before.slice(keepsLeading ? -(max - 1) : -max);
      const start =
        room.find((sequence) => kindAt(sequence) === "u") ??
        room.find((sequence) => kindAt(sequence) !== "t") ??
        room[0];
      expect(after[keepsLeading ? 1 : 0]).toBe(start);
    }),
    { numRuns: 2_000 },
  );
});

test("trimming what is trimmed changes nothing", () => {
  fc.assert(
    fc.property(extents, fc.integer({ min: 1, max: 12 }), trimmings, ({ extent, kindAt }, max, trimming) => {
      const once = trim(extent, max, trimming, kindAt);
      expect(trim(once, max, trimming, kindAt)).toEqual(once);
    }),
  );
});

test("trimming asks for few kinds: none of a thread that fits, and no more than the turn it begins in", () => {
  const extent = { pinned: null, first: 1, next: 10_001 };
  const asked: number[] = [];
  const ask = (kind: MessageKind) => (sequence: number) => {
    asked.push(sequence);
    return kind;
  };
  trim(extent, 10_000, "turns", ask("o"));
  expect(asked).toEqual([]);
  trim(extent, 100, "turns", ask("u"));
  expect(asked).toEqual([1, 9_901]);
});

test("a commit drops from the end, then appends, then trims; numbers go on after all were dropped", () => {
  const change = (drop: number | "all", append: number) => ({ drop, append: Array.from({ length: append }) });
  const none = { maxMessages: undefined, trimming: "turns" } as const;
  const kindAt = (): MessageKind => "u";
  const ten = planCommit(EMPTY_EXTENT, change(0, 10), none, kindAt).extent;
  expect(ten).toEqual({ pinned: null, first: 1, next: 11 });
  expect(planCommit(ten, change(3, 0), none, kindAt).extent).toEqual({ pinned: null, first: 1, next: 8 });
  expect(planCommit(ten, change(3, 2), none, kindAt)).toEqual({
    kept: { pinned: null, first: 1, next: 8 },
    extent: { pinned: null, first: 1, next: 10 },
  });
  expect(planCommit(ten, change(99, 1), none, kindAt).extent).toEqual({ pinned: null, first: 1, next: 2 });
  expect(planCommit(ten, change("all", 1), none, kindAt).extent).toEqual({
    pinned: null,
    first: 11,
    next: 12,
  });
});

test("what lies outside of an extent and what lies within make the whole", () => {
  fc.assert(
    fc.property(extents, extents, ({ extent }, { extent: other }) => {
      const outside = rangesOutside(extent, other).flatMap(({ from, to }) =>
        Array.from({ length: to - from }, (_, index) => from + index),
      );
      expect([...outside].sort((a, b) => a - b)).toEqual(
        numbersOf(extent).filter((number) => !isWithin(other, number)),
      );
    }),
    { numRuns: 2_000 },
  );
});

test("a selection is the newest before, or the first after", () => {
  fc.assert(
    fc.property(
      extents,
      fc.oneof(fc.nat(6), fc.constant(Number.POSITIVE_INFINITY)),
      fc.option(fc.nat(40), { nil: undefined }),
      fc.boolean(),
      ({ extent }, limit, place, isAfter) => {
        const before = isAfter ? undefined : place;
        const after = isAfter ? place : undefined;
        const all = numbersOf(extent).filter(
          (n) => n < (before ?? Number.POSITIVE_INFINITY) && n > (after ?? 0),
        );
        const expected = after !== undefined ? all.slice(0, limit) : limit === 0 ? [] : all.slice(-limit);
        expect(numbersOf(selectRange(extent, { limit, before, after }))).toEqual(expected);
      },
    ),
    { numRuns: 5_000 },
  );
});

test("count, first and last are those of the numbers", () => {
  fc.assert(
    fc.property(extents, ({ extent }) => {
      const numbers = numbersOf(extent);
      expect(countOf(extent)).toBe(numbers.length);
      expect(firstOf(extent)).toBe(numbers[0]);
      expect(lastOf(extent)).toBe(numbers.at(-1));
    }),
  );
});
