import { iterateEntries, rebuildLists } from "@scrollback/collections";
import { createMemoryStores } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { ScrollbackStore } from "../src/store/store.ts";
import { threadIds } from "./checkpoints.ts";
import { shown } from "./shown.ts";

test("an update is a read and a commit; a creation also writes its entry; a search reads the items it tests", async () => {
  const watched = new WatchedDriver(new MemoryDriver());
  const store = new ScrollbackStore({ stores: createStores(watched) });
  const costOf = async (call: () => Promise<unknown>) => {
    watched.reset();
    await call();
    await store.flush();
    const { reads, commits, deletions, entries } = watched;
    return [reads, commits, deletions, entries].map(({ length }) => length);
  };
  // A creation is a read, an entry, a commit and the update of the entry.
  expect(await costOf(() => store.put(["a"], "1", { n: 1 }))).toEqual([1, 1, 0, 2]);
  expect(await costOf(() => store.put(["a"], "2", { n: 1 }))).toEqual([1, 1, 0, 2]);
  expect(await costOf(() => store.put(["a"], "1", { n: 2 }))).toEqual([1, 1, 0, 0]);
  expect(await costOf(() => store.get(["a"], "1"))).toEqual([1, 0, 0, 0]);
  // The entries, two items.
  expect(await costOf(() => store.search(["a"]))).toEqual([2, 0, 0, 1]);
  expect(await costOf(() => store.listNamespaces())).toEqual([0, 0, 0, 1]);
  // The entry is told that the item is about to be deleted, and then removed.
  expect(await costOf(() => store.delete(["a"], "1"))).toEqual([1, 0, 1, 2]);
  // Missing: a look for entries that a process left which died in a deletion.
  expect(await costOf(() => store.delete(["a"], "1"))).toEqual([1, 0, 1, 1]);
});

test("an item is listed if it was stored, at whatever request its creator died, and its deletion leaves nothing", async () => {
  const outcomes: boolean[] = [];
  for (let writesLeft = 0; writesLeft < 5; writesLeft++) {
    const driver = new MemoryDriver();
    const watched = new WatchedDriver(driver);
    watched.writesLeft = writesLeft;
    const dying = new ScrollbackStore({ stores: createStores(watched) });
    await Promise.race([dying.put(["a"], "k", { n: 1 }), watched.death]);
    const stores = createStores(driver);
    const store = new ScrollbackStore({ stores });
    outcomes.push((await store.get(["a"], "k")) !== null);
    expect(await store.search(["a"])).toHaveLength(outcomes.at(-1) ? 1 : 0);
    await store.put(["a"], "k", { n: 2 });
    expect(shown(await store.search(["a"]))).toEqual(['[["a"],"k",{"n":2}]']);
    await store.delete(["a"], "k");
    expect(await store.search(["a"])).toEqual([]);
    expect(await threadIds(stores)).toEqual([]);
    await store.flush();
  }
  expect(outcomes).toEqual([false, false, true, true, true]);
});

test("an item whose record is damaged can be deleted", async () => {
  const stores = createMemoryStores();
  const store = new ScrollbackStore({ stores });
  await store.put(["a"], "k", { n: 1 });
  await stores.open("langgraph-store:item:a:k").commit({ metadata: "damaged" });
  await expect(store.get(["a"], "k")).rejects.toMatchObject({ code: "CORRUPT" });
  await new ScrollbackStore({ stores }).delete(["a"], "k");
  expect(await threadIds(stores)).toEqual([]);
  expect((await stores.listIndexes()).names).toEqual([]);
  expect(await store.search(["a"])).toEqual([]);
});

test("after a backend has lost its indexes, a rebuild lists all items again", async () => {
  const stores = createMemoryStores();
  const store = new ScrollbackStore({ stores });
  const long = "\u0001".repeat(470);
  for (const namespace of [["a"], ["a", "b"], [long]])
    for (const name of ["k", "l"]) await store.put(namespace, name, { name });
  await store.flush();
  const all = async () => shown(await new ScrollbackStore({ stores }).search([], { limit: 100 }));
  const before = await all();
  expect(before).toHaveLength(6);
  for await (const { index, entry } of iterateEntries(stores)) {
    const { key, id } = entry;
    await stores.index(index).remove({ key, id });
  }
  expect(await all()).toEqual([]);
  expect(await rebuildLists(stores)).toEqual({ listed: 6, rebuilt: 6 });
  expect(await all()).toEqual(before);
  await store.put(["a"], "k", { name: "k" });
  await store.delete(["a"], "k");
  expect(await all()).toHaveLength(5);
});
