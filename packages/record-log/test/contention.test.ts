import { describe, expect, test } from "vitest";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import { contend, type ServerModel } from "./contention.ts";

/** The number of inserts that fit in the time of a run. */
const INSERTS = rounds(1_000, 4_000);
const near: ServerModel = { travelMs: 1, serviceMs: 4, processors: 2, returnsWinner: false };
const models: readonly (readonly [string, ServerModel])[] = [
  ["a server nearby", near],
  ["a server far away", { travelMs: 10, serviceMs: 0, processors: 1, returnsWinner: false }],
  [
    "a server that returns the winning row",
    { travelMs: 4, serviceMs: 5, processors: 1, returnsWinner: true },
  ],
];

const slow: ServerModel = { travelMs: 200, serviceMs: 100, processors: 2, returnsWinner: false };

describe.each([...models, ["a slow server", slow] as const])(
  "writers of several processes that commit to one thread without a pause, on %s",
  (_, model) => {
    const tripMs = model.travelMs + model.serviceMs;

    test("one writer makes nearly one commit per round trip", async () => {
      const { commitsPerSecond } = await contend(1, 1, model, INSERTS * tripMs);
      expect((commitsPerSecond * tripMs) / 1_000).toBeGreaterThan(0.9);
    });

    test.each([2, 8])("%i writers lose few races, and none starves", async (writers) => {
      const { commitsPerSecond, requestsPerCommit, longestMs, fewest } = await contend(
        1,
        writers,
        model,
        INSERTS * tripMs,
      );
      expect((commitsPerSecond * tripMs) / 1_000).toBeGreaterThan(0.4);
      expect(requestsPerCommit).toBeLessThan(4.5);
      expect(longestMs / tripMs).toBeLessThan(60 + 60 * writers);
      expect(fewest).toBeGreaterThan(0);
    });
  },
);

test("after a stall of the server, 8 writers do not pause for much longer than the stall", async () => {
  const stalls = { everyMs: 400, ms: 100 };
  const model = { travelMs: 0.2, serviceMs: 0.2, processors: 2, returnsWinner: false, stalls };
  const { longestMs, commitsPerSecond } = await contend(1, 8, model, rounds(1_500, 4_000));
  expect(longestMs).toBeLessThan(4 * stalls.ms);
  expect(commitsPerSecond).toBeGreaterThan(1_000);
});
