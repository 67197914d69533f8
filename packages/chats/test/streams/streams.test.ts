import { expect, test } from "vitest";
import { exploreStreams, type Seen } from "./explore.ts";

test("in any order, with deaths and losses: listeners get each text once and an end, and nothing stays at rest", async () => {
  const seen: Seen = {};
  expect(await exploreStreams(1, 500, seen)).toBeUndefined();
  const all = ["absent", "begin", "cut", "death", "deletion", "error", "list", "takeover", "whole"];
  expect(Object.keys(seen).sort()).toEqual(all);
  // Listeners that read in time.
  expect(seen.whole).toBeGreaterThan(100);
});
