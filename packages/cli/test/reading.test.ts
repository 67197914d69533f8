import { PassThrough, Writable } from "node:stream";
import { createMemoryStores, type StoreFactory } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { CommandContext } from "../src/context/command-context.ts";
import { Output } from "../src/output/output.ts";
import { copyThreads } from "../src/threads/copy-threads.ts";
import { selectThreads } from "../src/threads/selection.ts";
import { Collector } from "./run.ts";

const text = (content: string) => ({ role: "user" as const, content });
const { signal } = new AbortController();

function contextOf(): CommandContext {
  const [stdout, stderr] = [new Collector(false), new Collector(false)];
  return new CommandContext({ args: [], env: {}, stdin: new PassThrough(), stdout, stderr, signal });
}

test("a thread that a listing returns twice is selected once", async () => {
  await using stores = createMemoryStores();
  for (const id of ["a", "b"]) await stores.open(id).addMessages([text(id)]);
  const twice: StoreFactory<unknown> = {
    ...(stores as StoreFactory<unknown>),
    async listThreads({ cursor } = {}) {
      const { threads } = await stores.listThreads();
      return cursor === undefined ? { threads, cursor: "again" } : { threads };
    },
  };
  const ids: string[] = [];
  for await (const { threadId } of selectThreads(contextOf(), twice, {})) ids.push(threadId);
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
  await using source = createMemoryStores();
  await using target = createMemoryStores();
  await source.open("a").addMessages([text("x")]);
  const foreign = { ...target } as StoreFactory<unknown>;
  const [thread] = (await source.listThreads()).threads;
  const options = {
    concurrency: 1,
    report: "text",
    label: "",
    done: "",
    skipCorrupt: false,
    verify: false,
  } as const;
  const copying = copyThreads(
    contextOf(),
    () => source as StoreFactory<unknown>,
    foreign,
    thread ? [thread] : [],
    options,
  );
  await expect(copying).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringContaining("two installations"),
  });
});
