import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Backend, Contestant } from "../src/backend.ts";
import { measureLoad } from "../src/load.ts";

/** A backend with a set append time and failure rate, and the counts of its calls. */
function backendThat(take: { raw: number; Scrollback: number }, failing = 0) {
  const asked = {
    open: 0,
    closed: 0,
    appends: 0,
    batches: new Set<number>(),
    threads: new Map<string, number>(),
  };
  const connect = (ms: number) => async (): Promise<Contestant> => {
    asked.open += 1;
    return {
      fill: async () => undefined,
      open: (threadId) => {
        asked.threads.set(threadId, (asked.threads.get(threadId) ?? 0) + 1);
        return {
          append: (messages) => async () => {
            asked.batches.add(messages.length);
            const appended = ++asked.appends;
            await sleep(ms);
            if (failing > 0 && appended % failing === 0) throw new Error("refused");
          },
          newest: () => async () => [],
          all: () => async () => [],
        };
      },
      expected: () => [],
      close: async () => {
        asked.closed += 1;
      },
    };
  };
  let cpu = 0;
  const backend: Backend = {
    key: "redis",
    title: "fake",
    versions: [],
    baseline: "",
    location: { product: "fake", version: "1", url: "fake:", run: "1" },
    connect: { raw: connect(take.raw), Scrollback: connect(take.Scrollback) },
    serverCpu: async () => {
      cpu += 1_000;
      return cpu;
    },
    close: async () => undefined,
  };
  return { backend, asked };
}

const progress = { signal: AbortSignal.timeout(60_000), report: () => undefined };

test("each number of connections writes to the stated threads, at most as fast as its commits allow", async () => {
  const { backend, asked } = backendThat({ raw: 10, Scrollback: 40 });
  const rows = await measureLoad(backend, { windowMs: 60, windows: 3 }, progress);
  assert.deepEqual(
    rows.map(({ connections, threads, clients, batch }) => [connections, threads, clients, batch]),
    [
      [1, "one", "one", 1],
      [1, "one", "one", 20],
      [8, "many", "many", 1],
      [8, "one", "one", 1],
      [8, "one", "many", 1],
      [64, "many", "many", 1],
      [64, "one", "one", 1],
      [64, "one", "many", 1],
    ],
  );
  for (const { connections, results } of rows) {
    const { raw, Scrollback } = results;
    assert.ok(raw && Scrollback);
    // At most what each connection can do, independent of the load of the machine.
    assert.ok(raw.perSecond <= (1_000 / 9) * connections);
    assert.ok(Scrollback.perSecond <= (1_000 / 39) * connections);
    assert.ok(Scrollback.medianMs >= 39 && Scrollback.percentile99Ms <= Scrollback.longestMs);
    assert.ok(raw.medianMs < Scrollback.medianMs);
    assert.ok(raw.clientCpuMicros > 0);
    assert.ok((raw.serverCpuMicros ?? 0) > 0);
    assert.equal(raw.failures, 0);
  }
  assert.deepEqual(asked.batches, new Set([1, 20]));
  assert.equal(asked.open, 2 * (1 + 1 + 8 + 1 + 8 + 64 + 1 + 64));
  assert.equal(asked.closed, asked.open);
  const writers = [...asked.threads.values()].toSorted((one, other) => other - one);
  assert.deepEqual(writers.slice(0, 8), [64, 64, 64, 64, 8, 8, 8, 8], "all writers write to the same thread");
  assert.ok(writers.slice(8).every((count) => count === 1));
});

test("failed commits are counted separately", async () => {
  const { backend } = backendThat({ raw: 1, Scrollback: 1 }, 4);
  const rows = await measureLoad(backend, { windowMs: 30, windows: 2 }, progress);
  for (const { results } of rows.filter(({ connections }) => connections === 64)) {
    const { calls, failures } = results.Scrollback ?? { calls: 0, failures: 0 };
    assert.ok(failures > 0 && failures < calls);
  }
});
