import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createMemoryStores } from "@scrollback/store-core";
import type { Backend } from "../src/backend.ts";
import type { Contestant } from "../src/contestant.ts";
import { measureWriters } from "../src/writers.ts";

test("each setup has its factories and threads, and commits per second are those that succeeded", async () => {
  const opened: { threads: Set<string>; writers: number }[] = [];
  let appends = 0;
  let closed = 0;
  const raw = async (): Promise<Contestant> => {
    const one = { threads: new Set<string>(), writers: 0 };
    opened.push(one);
    return {
      fill: async () => undefined,
      open(threadId) {
        one.threads.add(threadId);
        one.writers += 1;
        return {
          append: () => async () => {
            await sleep(10);
            if (++appends % 2 === 0) throw new Error("refused");
          },
          newest: () => async () => [],
          all: () => async () => [],
        };
      },
      close: async () => {
        closed += 1;
      },
    };
  };
  const backend: Backend = {
    url: "",
    definition: {
      ...{ title: "fake", versions: [], baseline: "", raw },
      stores() {
        const stores = createMemoryStores();
        return { stores, close: () => stores.close() };
      },
      remove: async () => undefined,
    },
    close: async () => undefined,
  };
  const rows = await measureWriters(backend, { windowMs: 60, windows: 2 });
  assert.equal(opened.length, 8 + 1 + 8);
  assert.equal(closed, opened.length);
  const threadsOf = (from: number, to: number) =>
    new Set(opened.slice(from, to).flatMap(({ threads }) => [...threads])).size;
  assert.deepEqual([threadsOf(0, 8), threadsOf(8, 9), threadsOf(9, 17)], [8, 1, 1]);
  assert.deepEqual(
    opened.map(({ writers }) => writers),
    [...Array(8).fill(1), 8, ...Array(8).fill(1)],
  );
  for (const { raw = 0, ours, failed } of rows) {
    // 8 writers with 100 appends a second each, of which half fail.
    assert.ok(raw > 0 && raw < 420, `${raw}`);
    assert.ok(ours > raw);
    assert.equal(failed, undefined);
  }
});
