import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Cell, measure } from "../src/measure.ts";

const effort = { warmUpMs: 20, measuredMs: 800, slowCalls: 2 };

function cellThatTakes(ms: number, calls: number[] = [], name = 0): Cell {
  const call = async () => {
    calls.push(name);
    await sleep(ms);
  };
  return { prepare: () => call, times: [] };
}

test("calls are interleaved: each cell is called once per round", async () => {
  const calls: number[] = [];
  const cells = [0, 1, 2].map((name) => cellThatTakes(1, calls, name));
  await measure(cells, effort, AbortSignal.timeout(10_000));
  const [first, second, third] = cells.map(({ times }) => times.length);
  assert.ok(first !== undefined && first > 20);
  assert.deepEqual([second, third], [first, first]);
  const measured = calls.slice(-3 * first);
  for (let iteration = 0; iteration < first; iteration++) {
    const names = measured.slice(3 * iteration, 3 * iteration + 3);
    assert.deepEqual(names.toSorted(), [0, 1, 2]);
  }
});

test("only the call is timed, not its preparation", async () => {
  const call = () => sleep(1);
  const cell: Cell = {
    prepare() {
      for (const end = performance.now() + 30; performance.now() < end; );
      return call;
    },
    times: [],
  };
  await measure([cell], effort, AbortSignal.timeout(10_000));
  assert.ok(Math.min(...cell.times) < 20);
});

test("the work after a call is awaited and not timed", async () => {
  const open = new Set<number>();
  let calls = 0;
  const cell: Cell = {
    prepare: () => async () => {
      assert.equal(open.size, 0);
      open.add(++calls);
    },
    async finish() {
      await sleep(20);
      open.clear();
    },
    times: [],
  };
  await measure([cell], effort, AbortSignal.timeout(10_000));
  assert.ok(cell.times.length > 5);
  assert.ok(Math.min(...cell.times) < 20);
  assert.equal(open.size, 0);
});

test("a slow call is measured a few times and does not reduce the samples of others", async () => {
  const [slow, quick] = [cellThatTakes(150), cellThatTakes(1)];
  await measure([slow, quick], effort, AbortSignal.timeout(10_000));
  assert.ok(slow.times.length <= 2 && slow.times.length > 0);
  assert.ok(quick.times.length > 20);
});

test("an aborted signal ends the measurement", async () => {
  const signal = AbortSignal.abort(new Error("interrupted"));
  await assert.rejects(measure([cellThatTakes(1)], effort, signal), /interrupted/);
});
