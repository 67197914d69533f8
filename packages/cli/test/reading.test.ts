import { PassThrough, Writable } from "node:stream";
import { createMemoryStores, type StoreFactory } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { CommandContext } from "../src/context/command-context.ts";
import { Output } from "../src/output/output.ts";
import { selectThreads } from "../src/threads/selection.ts";
import { Collector, run } from "./run.ts";

const { signal } = new AbortController();

test("a thread that a listing returns twice is selected once", async () => {
  await using stores = createMemoryStores();
  for (const id of ["a", "b"]) await stores.open(id).addMessages([{ role: "user", content: id }]);
  const twice: StoreFactory<unknown> = {
    ...(stores as StoreFactory<unknown>),
    async listThreads({ cursor } = {}) {
      const { threads } = await stores.listThreads();
      return cursor === undefined ? { threads, cursor: "again" } : { threads };
    },
  };
  const [stdout, stderr] = [new Collector(false), new Collector(false)];
  const context = new CommandContext({ args: [], env: {}, stdin: new PassThrough(), stdout, stderr, signal });
  const ids: string[] = [];
  for await (const { threadId } of selectThreads(context, twice, {})) ids.push(threadId);
  expect(ids).toEqual(["a", "b"]);
});

test("output waits for a slower reader", async () => {
  let waiting = 0;
  let most = 0;
  const slow = new Writable({
    highWaterMark: 10,
    write(chunk: Buffer, _encoding, done) {
      waiting -= chunk.length;
      setTimeout(done, 1);
    },
  });
  const output = new Output(slow, new Collector(false));
  for (let line = 0; line < 50; line++) {
    waiting += 21;
    most = Math.max(most, waiting);
    await output.line("x".repeat(20));
  }
  expect(most).toBeLessThanOrEqual(42);
});

test("factories of two installations are refused with the fix", async () => {
  const stores = createMemoryStores();
  await stores.open("a").addMessages([{ role: "user", content: "x" }]);
  const adapters = { one: () => stores, other: () => ({ ...createMemoryStores() }) as StoreFactory };
  const { code, stderr } = await run(["copy", "one:x", "other:x"], { adapters });
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("two installations") });
});
