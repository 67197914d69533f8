import { expect, test } from "vitest";
import { MISSING_MESSAGE, type ThreadEntry } from "../src/codec/record.ts";
import { SequenceBounds } from "../src/driver.ts";

const wanted = { first: 4, next: 8, pinned: null, compaction: null };
const at = (...sequences: number[]): ThreadEntry[] =>
  sequences.map((sequence) => ({ sequence, kind: "u", createdAt: sequence, text: `r${sequence}` }));

test("messages that are all there stay as they are", () => {
  const found = at(4, 5, 6, 7);
  expect(SequenceBounds.withMissing(wanted, found)).toBe(found);
});

test("a message without text stands for each missing message, also for a pinned one", () => {
  expect(SequenceBounds.withMissing(wanted, at(5, 7))).toEqual([
    { sequence: 4, ...MISSING_MESSAGE },
    ...at(5),
    { sequence: 6, ...MISSING_MESSAGE },
    ...at(7),
  ]);
  const pinned = { ...wanted, pinned: 1, compaction: 3 };
  expect(SequenceBounds.withMissing(pinned, at(3, 4, 5, 6, 7)).map(({ text }) => text)).toEqual([
    "",
    "r3",
    "r4",
    "r5",
    "r6",
    "r7",
  ]);
});

test("messages that the thread does not count are left out if others are missing", () => {
  expect(SequenceBounds.withMissing(wanted, at(2, 5, 6)).map(({ sequence }) => sequence)).toEqual([
    4, 5, 6, 7,
  ]);
});

test("more than 10,000 missing messages are an error", () => {
  const long = { ...wanted, next: 10_004 };
  expect(SequenceBounds.withMissing(long, [])).toHaveLength(10_000);
  expect(() => SequenceBounds.withMissing({ ...long, next: 10_005 }, [])).toThrow(
    expect.objectContaining({ code: "CORRUPT", message: expect.stringContaining("10001 of 10001") }),
  );
});
