import type { ReadRequest } from "@scrollback/store-core/driver";
import { describe, expect, test } from "vitest";
import { foundIn, viewOf } from "../src/read.ts";

const request: ReadRequest = {
  threadId: "t\0",
  limit: Number.POSITIVE_INFINITY,
  before: undefined,
  after: undefined,
  metadata: true,
  signal: undefined,
};
const newest = [
  ["6", "u", "6000", "m6\x1a0"],
  ["5", "u", "5000", "m5"],
  ["4", "u", "4000", "m4"],
  ["1", "u", "1000", "m1"],
];

describe("the view", () => {
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
