import { describe, expect, test } from "vitest";
import { contend, type ServerModel } from "./contention.ts";

const SECONDS = 20;
const near: ServerModel = { travelMs: 1, serviceMs: 4, processors: 2, returnsWinner: false };
const models: readonly (readonly [string, ServerModel])[] = [
  ["a server nearby", near],
  ["a server far away", { travelMs: 10, serviceMs: 0, processors: 1, returnsWinner: false }],
  [
    "a server that returns the winning row",
    { travelMs: 4, serviceMs: 5, processors: 1, returnsWinner: true },
  ],
];

describe.each(models)(
  "writers of several processes that commit to one thread without a pause, on %s",
  (_, model) => {
    const tripMs = model.travelMs + model.serviceMs;

    test("one alone makes nearly a commit in each round trip", async () => {
      const { commitsPerSecond } = await contend(1, 1, model, SECONDS * 1_000);
      expect((commitsPerSecond * tripMs) / 1_000).toBeGreaterThan(0.93);
    });

    test.each([2, 8])("%i together lose few races, and none of them starves", async (writers) => {
      const { commitsPerSecond, requestsPerCommit, longestMs, fewest } = await contend(
        1,
        writers,
        model,
        SECONDS * 1_000,
      );
      expect((commitsPerSecond * tripMs) / 1_000).toBeGreaterThan(0.4);
      expect(requestsPerCommit).toBeLessThan(4);
      expect(longestMs).toBeLessThan(10_000);
      expect(fewest).toBeGreaterThan(0);
    });
  },
);
