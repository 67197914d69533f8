import { readFileSync } from "node:fs";
import { createMemoryStores, RecordLogDriver } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import { goldenThreads } from "../src/golden/threads.ts";
import { type GoldenFacts, runGolden } from "../src/index.ts";
import { differenceOf } from "../src/same-value.ts";
import { logOf } from "./golden/stored-log.ts";

const read = (file: string) => JSON.parse(readFileSync(new URL(`golden/${file}`, import.meta.url), "utf8"));

const { facts, stored } = read("record-log-1.json");

runGolden({
  name: "a record log, format 1",
  facts,
  async load() {
    const driver = new RecordLogDriver(await logOf(stored));
    return { driver, close: () => driver.close() };
  },
});

test("the record log's golden file has every feature of its format", () => {
  const rows: { head: string }[] = Object.values<{ head: string }[]>(stored).flat();
  const keys = new Set(rows.flatMap(({ head }) => Object.keys(JSON.parse(head))));
  // A root, fragments and their upload, a pinned message, metadata, a drop, dead texts and rows, blank rows, an expiry.
  for (const key of "bfUgmqDFSXKP") expect([...keys], "the keys of heads").toContain(key);
  expect(JSON.stringify(stored.trimmed), "blanked texts").toContain('"texts":[""]');
  expect(JSON.stringify(stored.expiring), "expiry").toContain('"expiresAt"');
});

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
