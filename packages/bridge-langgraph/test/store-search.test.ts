import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { ScrollbackStore } from "../src/store/store.ts";
import { GatedDriver } from "./gated-driver.ts";

const ITEMS = 120;
const namespaces = [["a"], ["b"], ["b", "c"], ["b-"], ["c", "b"]];

/** A store with 120 items in each namespace, `{ n }` from 0 to 119, 320 in the first one, and what its requests are. */
async function filled() {
  const driver = new MemoryDriver();
  const writer = new ScrollbackStore({ stores: createStores(driver) });
  for (const namespace of namespaces)
    for (let n = 0; n < (namespace[0] === "a" ? 320 : ITEMS); n++)
      await writer.put(namespace, `${100 + n}`, { n });
  const watched = new WatchedDriver(driver);
  const store = new ScrollbackStore({ stores: createStores(watched) });
  const requestsOf = async (...search: Parameters<ScrollbackStore["search"]>) => {
    watched.reset();
    const found = await store.search(...search);
    expect(watched.entries.every((one) => one === "listEntries langgraph-store:items")).toBe(true);
    const read = watched.reads.map(({ threadId }) => threadId);
    const place = ["langgraph-store:item", ...search[0]].join(":");
    expect(read.filter((id) => !id.startsWith(`${place}:`))).toEqual([]);
    return { lists: watched.entries.length, reads: read.length, found: found.map(({ value }) => value.n) };
  };
  return { driver, watched, store, requestsOf };
}

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);

test("a search reads the items below its prefix and no others, one request for each hundred entries", async () => {
  const { requestsOf } = await filled();
  const all = [...numbers(0, ITEMS), ...numbers(0, ITEMS)];
  expect(await requestsOf(["b"], { limit: 1_000 })).toEqual({ lists: 3, reads: 240, found: all });
  expect(await requestsOf(["b", "c"], { limit: 1_000 })).toMatchObject({ lists: 2, reads: ITEMS });
  expect(await requestsOf(["b", "d"])).toEqual({ lists: 1, reads: 0, found: [] });
  expect(await requestsOf(["b"])).toEqual({ lists: 1, reads: 10, found: numbers(0, 10) });
});

test("items before the offset are not read, unless a filter has to", async () => {
  const { requestsOf } = await filled();
  expect(await requestsOf(["b", "c"], { offset: 110, limit: 5 })).toEqual({
    ...{ lists: 2, reads: 5 },
    found: numbers(110, 115),
  });
  expect(await requestsOf(["b", "c"], { offset: 130 })).toEqual({ lists: 2, reads: 0, found: [] });
  const filter = { n: { $gte: 20 } };
  expect(await requestsOf(["b", "c"], { filter, offset: 10, limit: 2 })).toEqual({
    ...{ lists: 1, reads: 32 },
    found: [30, 31],
  });
});

test("a filter stops when it has found enough, and otherwise reads its namespaces, 16 items at once", async () => {
  const { driver, requestsOf } = await filled();
  const filter = { n: { $gte: 30 } };
  expect(await requestsOf(["b"], { filter, limit: 3 })).toEqual({ lists: 1, reads: 48, found: [30, 31, 32] });
  expect(await requestsOf(["b"], { filter: { n: -1 } })).toEqual({ lists: 3, reads: 240, found: [] });
  let current = 0;
  let most = 0;
  const gated = new GatedDriver(driver, async () => {
    current += 1;
    most = Math.max(most, current);
    await new Promise(setImmediate);
    current -= 1;
  });
  const store = new ScrollbackStore({ stores: createStores(gated) });
  expect(await store.search(["b"], { filter: { n: -1 } })).toEqual([]);
  expect(most).toBe(16);
});

test("a list of namespaces passes the items of each in one request, and reads none", async () => {
  const { watched, store } = await filled();
  const requestsOf = async (options?: Parameters<ScrollbackStore["listNamespaces"]>[0]) => {
    watched.reset();
    const found = await store.listNamespaces(options);
    expect(watched.reads).toEqual([]);
    return { found, lists: watched.entries.length };
  };
  const sorted = [["a"], ["b-"], ["b"], ["b", "c"], ["c", "b"]];
  expect(await requestsOf()).toEqual({ found: sorted, lists: 6 });
  expect(await requestsOf({ prefix: ["b"] })).toEqual({ found: [["b"], ["b", "c"]], lists: 3 });
  expect(await requestsOf({ prefix: ["b", "*"] })).toEqual({ found: [["b", "c"]], lists: 3 });
  expect(await requestsOf({ suffix: ["b"], limit: 1 })).toEqual({ found: [["b"]], lists: 3 });
});
