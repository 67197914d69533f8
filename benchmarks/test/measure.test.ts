import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Cell, measure, median } from "../src/measure.ts";

test("calls are interleaved: each cell is called once per round, in changing order", async () => {
  const calls: number[] = [];
  const cells = [0, 1, 2].map(
    (name): Cell => ({
      prepare: () => async () => {
        calls.push(name);
        await sleep(1);
      },
      times: [],
    }),
  );
  await measure(cells, { warmUpMs: 20, measuredMs: 500 });
  const [first = 0, second, third] = cells.map(({ times }) => times.length);
  assert.ok(first > 20);
  assert.deepEqual([second, third], [first, first]);
  const measured = calls.slice(-3 * first);
  const rounds = Array.from({ length: first }, (_, round) => measured.slice(3 * round, 3 * round + 3));
  for (const round of rounds) assert.deepEqual(round.toSorted(), [0, 1, 2]);
  assert.ok(new Set(rounds.map(String)).size > 3);
});

test("only the call is timed, not its preparation; slow calls are measured a few times", async () => {
  let calls = 0;
  const cell: Cell = {
    prepare() {
      for (const end = performance.now() + 30; performance.now() < end; );
      return async () => {
        calls += 1;
      };
    },
    times: [],
  };
  await measure([cell], { warmUpMs: 0, measuredMs: 1 });
  assert.equal(cell.times.length, 5);
  assert.equal(calls, 6, "one call warms up");
  assert.ok(Math.min(...cell.times) < 20);
});

test("a median is the middle value, or the mean of the two middle ones", () => {
  assert.equal(median([9, 1, 5]), 5);
  assert.equal(median([10, 1, 2, 4]), 3);
  assert.throws(() => median([]), RangeError);
});
