import fc from "fast-check";
import { expect, test } from "vitest";
import type { MessageKind } from "../src/codec/record-location.ts";
import { planCommit, SequenceBounds, type TrimSearch } from "../src/driver.ts";
import { NOT_SEARCHED, type Trimming, trim } from "../src/trimming/trimming.ts";

const letters = ["s", "u", "t", "c", "b", "k", "o"] as const;
const kinds = fc.array(fc.constantFrom<MessageKind>(...letters), { minLength: 1, maxLength: 30 });
const trimmings = fc.constantFrom<Trimming>("turns", "exact");

const messageOf = (kind: MessageKind) => ({ kind });

/** All sequence numbers within bounds, in order. */
function numbersOf(bounds: SequenceBounds): number[] {
  const run = Array.from({ length: bounds.next - bounds.first }, (_, index) => bounds.first + index);
  return [bounds.pinned, bounds.compaction, ...run].filter((number) => number !== null);
}

/** Bounds that a history of commits can produce, and the kinds of its messages. */
const anyBounds = fc
  .tuple(fc.boolean(), fc.boolean(), fc.integer({ min: 1, max: 5 }), kinds)
  .map(([hasPinned, hasCompaction, first, list]) => {
    const pinned = hasPinned && first > 1 ? 1 : null;
    const compaction = hasCompaction && first > 2 ? 2 : null;
    const bounds: SequenceBounds = { pinned, compaction, first, next: first + list.length };
    const kindAt = (sequence: number): MessageKind =>
      sequence === pinned ? "s" : sequence === compaction ? "k" : (list[sequence - first] ?? "o");
    const newest = numbersOf(bounds).findLast((sequence) => kindAt(sequence) === "k") ?? 0;
    return { bounds, kindAt, search: { ...NOT_SEARCHED, newestCompaction: newest } };
  });

test("trimming reads few kinds: none if the thread fits, otherwise at most those of its first kept turn", () => {
  const bounds = { ...SequenceBounds.EMPTY, next: 10_001 };
  const asked: number[] = [];
  const ask = (kind: MessageKind) => (sequence: number) => {
    asked.push(sequence);
    return kind;
  };
  trim(bounds, 10_000, "turns", ask("o"));
  expect(asked).toEqual([]);
  trim(bounds, 100, "turns", ask("u"));
  expect(asked).toEqual([1, 9_901]);
  asked.length = 0;
  trim({ ...SequenceBounds.EMPTY, pinned: 1, first: 2, next: 10_001 }, 100, "turns", ask("u"));
  expect(asked).toEqual([9_902]);
});

test("a commit plans the same with what earlier commits found out, and asks for no kind twice", () => {
  const commit = fc.record({
    append: fc.array(fc.constantFrom<MessageKind>(...letters, "t", "o", "c"), { maxLength: 6 }),
    drop: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat(8), fc.constant("all" as const)),
    maxMessages: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
    trimming: trimmings,
  });
  fc.assert(
    fc.property(fc.array(commit, { minLength: 1, maxLength: 40 }), (commits) => {
      let plan = { bounds: SequenceBounds.EMPTY, search: NOT_SEARCHED };
      const stored = new Map<number, MessageKind>();
      for (const { append, drop, maxMessages, trimming } of commits) {
        const change = { drop, append: append.map(messageOf) };
        const limits = { maxMessages, trimming };
        const kindAt = (sequence: number) => stored.get(sequence) ?? "o";
        const { newestCompaction } = plan.search;
        const unaided = planCommit(plan.bounds, change, limits, kindAt, {
          ...NOT_SEARCHED,
          newestCompaction,
        });
        const planned = planCommit(plan.bounds, change, limits, kindAt, plan.search);
        expect(planned.bounds).toEqual(unaided.bounds);
        const left = new Set(numbersOf(plan.bounds));
        for (const { from, to } of planned.removed)
          for (let sequence = from; sequence < to; sequence++) left.delete(sequence);
        append.forEach((_, index) => {
          const sequence = planned.kept.next + index;
          if (planned.removed.length === 0 || SequenceBounds.isWithin(planned.bounds, sequence))
            left.add(sequence);
        });
        expect([...left].toSorted((a, b) => a - b)).toEqual(numbersOf(planned.bounds));
        append.forEach((kind, index) => {
          stored.set(planned.kept.next + index, kind);
        });
        plan = planned;
      }
    }),
    { numRuns: 5_000 },
  );

  const long = { ...SequenceBounds.EMPTY, next: 10_001 };
  for (const kind of ["o", "t", "c", "b"] as const) {
    let asked = 0;
    let plan: { bounds: SequenceBounds; search: TrimSearch } = { bounds: long, search: NOT_SEARCHED };
    for (let count = 0; count < 100; count++) {
      plan = planCommit(
        plan.bounds,
        { drop: 0, append: [messageOf(kind)] },
        { maxMessages: 10_000, trimming: "turns" },
        () => {
          asked++;
          return kind;
        },
        plan.search,
      );
    }
    // The leading message, the new one and the first one, and all of them once.
    expect(asked).toBeLessThan(20_000 + 100 * 4);
  }
});

test("the ranges outside of bounds and those within cover all numbers", () => {
  fc.assert(
    fc.property(anyBounds, anyBounds, ({ bounds }, { bounds: other }) => {
      const outside = SequenceBounds.rangesOutside(bounds, other).flatMap(({ from, to }) =>
        Array.from({ length: to - from }, (_, index) => from + index),
      );
      expect([...outside].sort((a, b) => a - b)).toEqual(
        numbersOf(bounds).filter((number) => !SequenceBounds.isWithin(other, number)),
      );
    }),
    { numRuns: 2_000 },
  );
});

test("a selection is the newest messages before, or the first after", () => {
  fc.assert(
    fc.property(
      anyBounds,
      fc.oneof(fc.nat(6), fc.constant(Number.POSITIVE_INFINITY)),
      fc.option(fc.nat(40), { nil: undefined }),
      fc.boolean(),
      ({ bounds }, limit, place, isAfter) => {
        const before = isAfter ? undefined : place;
        const after = isAfter ? place : undefined;
        const all = numbersOf(bounds).filter(
          (n) => n < (before ?? Number.POSITIVE_INFINITY) && n > (after ?? 0),
        );
        const expected = after !== undefined ? all.slice(0, limit) : limit === 0 ? [] : all.slice(-limit);
        expect(numbersOf(SequenceBounds.selectRange(bounds, { limit, before, after }))).toEqual(expected);
      },
    ),
    { numRuns: 5_000 },
  );
});

test("count, first and last are those of the numbers", () => {
  fc.assert(
    fc.property(anyBounds, ({ bounds }) => {
      const numbers = numbersOf(bounds);
      expect(SequenceBounds.countOf(bounds)).toBe(numbers.length);
      expect(SequenceBounds.firstOf(bounds)).toBe(numbers[0]);
      expect(SequenceBounds.lastOf(bounds)).toBe(numbers.at(-1));
    }),
  );
});
