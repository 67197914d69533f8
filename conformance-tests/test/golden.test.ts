import { readFileSync } from "node:fs";
import { createMemoryStores } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import { goldenThreads } from "../src/golden/threads.ts";
import type { GoldenFacts } from "../src/golden/write-golden.ts";
import { differenceOf } from "../src/messages/same-value.ts";

const read = (file: string) => JSON.parse(readFileSync(new URL(`golden/${file}`, import.meta.url), "utf8"));

describe("the states of memory stores, format 1", () => {
  const states: GoldenFacts = read("memory-1.json").facts;

  test.each(goldenThreads)("restore the whole thread $threadId", async ({ threadId, entries, metadata }) => {
    const store = createMemoryStores().restore(states[threadId]?.state);
    expect(store.threadId).toBe(threadId);
    const messages = entries.map(([, message]) => message);
    expect(differenceOf(await store.listMessages(), messages)).toBeUndefined();
    expect(differenceOf((await store.read()).metadata, metadata)).toBeUndefined();
  });
});
