import { iterateEntries } from "@scrollback/collections";
import { createMemoryStores } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { ScrollbackStore, type ScrollbackStoreOptions } from "../src/store/store.ts";
import { threadIds } from "./checkpoints.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

// Only the date: timers, by which entries are told, run in real time.
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: 1_000 * DAY }));
afterEach(() => void vi.useRealTimers());

const pass = (ms: number) => vi.setSystemTime(Date.now() + ms);

async function opened(options: Partial<ScrollbackStoreOptions> = {}) {
  const stores = createMemoryStores();
  const store = new ScrollbackStore({ stores, ttlMs: HOUR, ...options });
  const isThere = async () => {
    // Neither of these reads begins the time again.
    const reader = new ScrollbackStore({ stores, refreshOnRead: false, ttlMs: HOUR });
    const all = [
      await reader.get(["a"], "k"),
      ...(await reader.search(["a"])),
      ...(await reader.listNamespaces()),
    ];
    expect([0, 3]).toContain(all.filter((one) => one !== null).length);
    return all.length === 3;
  };
  await store.put(["a"], "k", { n: 1 });
  return { stores, store, isThere };
}

test("an expired item is neither returned nor listed, leaves nothing, and can be created again", async () => {
  const { stores, store, isThere } = await opened();
  const first = await store.get(["a"], "k");
  pass(HOUR - 1);
  expect(await isThere()).toBe(true);
  pass(1);
  expect(await isThere()).toBe(false);
  expect(await threadIds(stores)).toEqual([]);
  expect((await stores.listIndexes()).names).toEqual([]);
  await store.put(["a"], "k", { n: 2 });
  expect(await store.search(["a"])).toMatchObject([{ value: { n: 2 } }]);
  expect((await store.get(["a"], "k"))?.createdAt.getTime()).toBe(Number(first?.createdAt) + HOUR);
  expect(await isThere()).toBe(true);
});

test("an expired item that nobody lists or reads leaves its index in time", async () => {
  const { stores } = await opened();
  pass(DAY + 2 * HOUR);
  expect((await stores.listIndexes()).names).toEqual([]);
});

test("a put and each read begin the time of an item again, with its times and content as they were", async () => {
  const { store, isThere } = await opened();
  const created = (await store.get(["a"], "k"))?.createdAt;
  const calls = [
    () => store.put(["a"], "k", { n: 2 }),
    () => store.get(["a"], "k"),
    () => store.search(["a"]),
    () => store.search([], { filter: { n: 2 } }),
    () => store.batch([{ namespace: ["a"], key: "k" }]),
  ];
  for (const call of calls) {
    pass(HOUR - 1);
    await call();
  }
  const found = await store.get(["a"], "k");
  expect(found).toMatchObject({ value: { n: 2 }, createdAt: created });
  expect(found?.updatedAt.getTime()).toBe(Number(created) + HOUR - 1);
  pass(HOUR - 1);
  expect(await isThere()).toBe(true);
  pass(1);
  expect(await isThere()).toBe(false);
});

test("an item that a search passes over, and one read without refreshOnRead, keep their time", async () => {
  const { store, isThere, stores } = await opened();
  await store.put(["a"], "l", { n: 2 });
  const without = new ScrollbackStore({ stores, ttlMs: HOUR, refreshOnRead: false });
  pass(HOUR / 2);
  await store.search(["a"], { offset: 1 });
  await store.search(["a"], { filter: { n: 2 } });
  await store.search(["a"], { filter: { n: { $gte: 1 } }, offset: 1 });
  await store.listNamespaces();
  await without.get(["a"], "k");
  await without.search(["a"]);
  pass(HOUR / 2);
  expect(await without.get(["a"], "k")).toBeNull();
  expect(await without.get(["a"], "l")).not.toBeNull();
  await store.delete(["a"], "l");
  expect(await isThere()).toBe(false);
});

test("an item is listed as long as it is read or written, and its rest goes after it", async () => {
  const { stores, store } = await opened();
  await store.put(["a"], "l", { n: 0 });
  const steps = (3 * DAY) / (HOUR / 2);
  for (let n = 1; n <= steps; n++) {
    pass(HOUR / 2);
    await store.get(["a"], "k");
    await store.put(["a"], "l", { n });
  }
  expect(await store.search(["a"])).toHaveLength(2);
  pass(HOUR);
  expect(await store.search(["a"])).toEqual([]);
  expect((await stores.listIndexes()).names).toEqual([]);
});

test("a put by a store without ttlMs makes an item permanent, and one with ttlMs lets it expire", async () => {
  const { stores, store } = await opened();
  const permanent = new ScrollbackStore({ stores });
  await permanent.put(["a"], "k", { n: 2 });
  pass(30 * DAY);
  expect(await store.search(["a"])).toMatchObject([{ value: { n: 2 } }]);
  await store.flush();
  pass(30 * DAY);
  expect(await store.get(["a"], "k")).toMatchObject({ value: { n: 2 } });
  await store.put(["a"], "k", { n: 3 });
  pass(HOUR);
  expect(await permanent.search([])).toEqual([]);
});

test("an item whose entry was lost is listed again after a read, and keeps its time", async () => {
  const stores = createMemoryStores();
  const permanent = new ScrollbackStore({ stores });
  const expiring = new ScrollbackStore({ stores, ttlMs: HOUR });
  await permanent.put(["a"], "permanent", {});
  await expiring.put(["a"], "expiring", {});
  for await (const { index, entry } of iterateEntries(stores)) {
    const { key, id } = entry;
    await stores.index(index).remove({ key, id });
  }
  pass(HOUR / 2);
  // Another process of each, which tells the entry of what it reads.
  for (const [key, ttlMs] of [
    ["permanent", HOUR],
    ["expiring", undefined],
  ] as const) {
    await using reader = new ScrollbackStore({ stores, ...(ttlMs && { ttlMs }) });
    expect(await reader.get(["a"], key)).not.toBeNull();
  }
  expect(await permanent.search(["a"])).toHaveLength(2);
  pass(HOUR / 2);
  expect(await permanent.search(["a"])).toMatchObject([{ key: "permanent" }]);
  pass(30 * DAY);
  expect(await permanent.search(["a"])).toMatchObject([{ key: "permanent" }]);
});

test("a namespace is not listed after its item has expired, also if the reply of its commit came late", async () => {
  const driver = new MemoryDriver();
  const slow = new WatchedDriver(driver);
  slow.commit = async (request) => {
    const committed = await driver.commit(request);
    pass(MINUTE);
    return committed;
  };
  const store = new ScrollbackStore({ stores: createStores(slow), ttlMs: HOUR });
  await store.put(["a"], "k", {});
  pass(HOUR - MINUTE);
  expect(await store.listNamespaces()).toEqual([]);
});

test("ttlMs is that of the stores by default, and a store with a shorter one does not shorten it by a read", async () => {
  const stores = createMemoryStores({ ttlMs: HOUR });
  const store = new ScrollbackStore({ stores });
  const longer = new ScrollbackStore({ stores, ttlMs: DAY, prefix: "longer" });
  for (const one of [store, longer]) await one.put(["a"], "k", {});
  pass(HOUR);
  expect(await store.get(["a"], "k")).toBeNull();
  expect(await longer.get(["a"], "k")).not.toBeNull();
  expect(stores.settings.ttlMs).toBe(HOUR);
  const shorter = new ScrollbackStore({ stores, ttlMs: MINUTE, prefix: "longer" });
  expect(await shorter.get(["a"], "k")).not.toBeNull();
  pass(DAY - 2 * HOUR);
  expect(await shorter.get(["a"], "k")).not.toBeNull();
});

test("a read begins the time again at most once in a tenth of it, with a commit and a write of the entry", async () => {
  const watched = new WatchedDriver(new MemoryDriver());
  const store = new ScrollbackStore({ stores: createStores(watched), ttlMs: HOUR });
  const costOf = async (call: () => Promise<unknown>) => {
    watched.reset();
    await call();
    const { reads, commits, deletions, entries } = watched;
    return [reads, commits, deletions, entries].map(({ length }) => length);
  };
  expect(await costOf(() => store.put(["a"], "k", {}))).toEqual([1, 1, 0, 2]);
  pass(1);
  expect(await costOf(() => store.put(["a"], "k", {}))).toEqual([1, 1, 0, 1]);
  pass(HOUR / 10 - 1);
  expect(await costOf(() => store.get(["a"], "k"))).toEqual([1, 0, 0, 0]);
  pass(1);
  expect(await costOf(() => store.get(["a"], "k"))).toEqual([1, 1, 0, 1]);
  expect(await costOf(() => store.search(["a"]))).toEqual([1, 0, 0, 1]);
  pass(HOUR / 10);
  expect(await costOf(() => store.search(["a"]))).toEqual([1, 1, 0, 2]);
  expect(await costOf(() => store.get(["a"], "k"))).toEqual([1, 0, 0, 0]);
  expect(await costOf(() => store.delete(["a"], "k"))).toEqual([1, 0, 1, 3]);
});

test("an item that is deleted or written while a read begins its time again is returned as it was read", async () => {
  const driver = new MemoryDriver();
  const watched = new WatchedDriver(driver);
  const store = new ScrollbackStore({ stores: createStores(watched), ttlMs: HOUR });
  const other = new ScrollbackStore({ stores: createStores(driver), ttlMs: HOUR });
  await store.put(["a"], "k", { n: 1 });
  pass(HOUR / 2);
  watched.beforeCommit = () => other.put(["a"], "k", { n: 2 });
  expect(await store.get(["a"], "k")).toMatchObject({ value: { n: 1 } });
  pass(HOUR / 2);
  watched.beforeCommit = () => other.delete(["a"], "k");
  expect(await store.search(["a"])).toMatchObject([{ value: { n: 2 } }]);
  expect(await other.get(["a"], "k")).toBeNull();
  await store.flush();
  expect(await other.search(["a"])).toEqual([]);
});

test("a backend that cannot expire threads refuses ttlMs", () => {
  const watched = new WatchedDriver(new MemoryDriver());
  Object.defineProperty(watched, "capabilities", { value: { ...watched.capabilities, expiry: false } });
  const stores = createStores(watched);
  expect(() => new ScrollbackStore({ stores, ttlMs: HOUR })).toThrow(
    expect.objectContaining({ code: "UNSUPPORTED" }),
  );
});
