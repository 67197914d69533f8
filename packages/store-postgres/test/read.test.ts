import { NO_THREAD, type ReadRequest } from "@scrollback/store-core/driver";
import { describe, expect, test } from "vitest";
import { foundIn, readArguments, viewOf } from "../src/read.ts";

const request: ReadRequest = {
  threadId: "t\0",
  limit: Number.POSITIVE_INFINITY,
  before: undefined,
  after: undefined,
  metadata: true,
  signal: undefined,
};
/** A thread that was trimmed to its system message and the messages 4 to 6. */
const head = ["0", null, null, "a.7-b 4 7 1 0 0 1000 2000 3000"];
const newest = [
  ["6", "u", "6000", "m6\x1a0"],
  ["5", "u", "5000", "m5"],
  ["4", "u", "4000", "m4"],
  ["1", "u", "1000", "m1"],
];

test("the arguments of a read", () => {
  expect(readArguments(request, 9)).toEqual(["t\x1a0", 2 ** 31 - 1, null, null, true, 9]);
  expect(readArguments({ ...request, limit: 5, before: Number.POSITIVE_INFINITY, after: 3 }, null)).toEqual([
    ...["t\x1a0", 5],
    ...[2 ** 53, 3, true, null],
  ]);
});

describe("the view", () => {
  test("of no rows is that of no thread", () => {
    expect(viewOf(request, foundIn([]))).toBe(NO_THREAD);
  });

  test("has the head, the metadata, and the messages in their order", () => {
    expect(viewOf(request, foundIn([head, ["-1", null, null, "meta\x1a1"], ...newest]))).toEqual({
      ...{ revision: "a.7-b", count: 4, first: 1, last: 6, newestCompaction: 0 },
      entries: [
        { sequence: 1, kind: "u", createdAt: 1000, text: "m1" },
        { sequence: 4, kind: "u", createdAt: 4000, text: "m4" },
        { sequence: 5, kind: "u", createdAt: 5000, text: "m5" },
        { sequence: 6, kind: "u", createdAt: 6000, text: "m6\0" },
      ],
      ...{ createdAt: 1000, updatedAt: 2000, expiresAt: 3000 },
      metadata: "meta\x1e",
    });
  });

  test("behind a sequence number has rising rows, and without expiry and metadata neither", () => {
    const lasting = ["0", null, null, "a.7-b 4 7 1 0 0 1000 2000 0"];
    const view = viewOf({ ...request, after: 4, limit: 1 }, foundIn([lasting, ["5", "u", "5000", "m5"]]));
    expect(view.entries).toEqual([{ sequence: 5, kind: "u", createdAt: 5000, text: "m5" }]);
    expect(view).not.toHaveProperty("expiresAt");
    expect(view).not.toHaveProperty("metadata");
  });

  test("has a message without text for each missing row", () => {
    const { entries } = viewOf(request, foundIn([head, ["6", "u", "6000", "m6"], ["4", "u", "4000", "m4"]]));
    expect(entries.map(({ sequence, text }) => [sequence, text])).toEqual([
      [1, ""],
      [4, "m4"],
      [5, ""],
      [6, "m6"],
    ]);
  });

  test.each([
    "",
    "a.7-b",
    "a.7-b 4 7 1 0 0 1000 2000",
    "a.7-b 7 4 0 0 0 1000 2000 0",
    "a.7-b x 7 0 0 0 1000 2000 0",
    "a.7-b 4 9007199254740992 0 0 0 1000 2000 0",
  ])("of a damaged head is an error: %j", (text) => {
    expect(() => viewOf(request, foundIn([["0", null, null, text]]))).toThrow(
      expect.objectContaining({ code: "CORRUPT" }),
    );
  });

  test("of rows without a head is an error", () => {
    expect(() => viewOf(request, foundIn(newest))).toThrow(expect.objectContaining({ code: "CORRUPT" }));
  });
});
