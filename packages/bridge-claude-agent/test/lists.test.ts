import { iterateEntries, rebuildLists } from "@scrollback/collections";
import { createMemoryStores, StoreError } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test, vi } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { wrappedIndex } from "../../../conformance-tests/test/fixtures/wrapped-index.ts";
import { ScrollbackSessionStore } from "../src/index.ts";
import type { FoldSessionSummary } from "../src/session-store.ts";
import { entry } from "./store-tests.ts";
import { namesIn, watchedDriver } from "./watched.ts";

const key = { projectKey: "p", sessionId: "s" };

test("summaries are folded in the same commit, and equal a fold of all entries", async () => {
  const stores = createMemoryStores();
  const fold: FoldSessionSummary = (previous, { sessionId, subpath }, entries, { mtime = -1 } = {}) => {
    expect(subpath).toBeUndefined();
    const uuids = [...((previous?.data.uuids as string[]) ?? []), ...entries.map(({ uuid }) => String(uuid))];
    return { sessionId, mtime, data: { uuids } };
  };
  const [store, other] = [1, 2].map(
    () => new ScrollbackSessionStore({ stores, foldSessionSummary: fold }),
  ) as [ScrollbackSessionStore, ScrollbackSessionStore];
  const texts = Array.from({ length: 10 }, (_, index) => `${index}`);
  await Promise.all(texts.map((uuid, index) => (index % 2 ? store : other).append(key, [entry("x", uuid)])));
  await store.append(key, [entry("x", "1")]);
  await store.append({ ...key, subpath: "agent" }, [entry("x", "sub")]);
  // Written without the function.
  await new ScrollbackSessionStore({ stores }).append({ projectKey: "p", sessionId: "old" }, [
    entry("x", "1"),
  ]);
  await store.append({ projectKey: "p", sessionId: "old" }, [entry("x", "2")]);
  // Too large for a list.
  await store.append({ projectKey: "p", sessionId: "large" }, [entry("x", "y".repeat(9_000))]);
  const expected = [
    { sessionId: "large", data: { uuids: ["y".repeat(9_000)] } },
    { sessionId: "old", data: { uuids: ["1", "2"] } },
    { sessionId: "s", data: { uuids: ((await store.load(key)) ?? []).map(({ uuid }) => uuid) } },
  ];
  const byId = (a: { sessionId: string }, b: { sessionId: string }) => (a.sessionId < b.sessionId ? -1 : 1);
  // Lists of other stores say it within a second.
  for (const one of [store, other]) await one.flush();
  for (const one of [store, other]) {
    const summaries = (await one.listSessionSummaries?.("p")) ?? [];
    expect([...summaries].sort(byId)).toMatchObject(expected);
    const listed = await one.listSessions("p");
    expect(summaries.map(({ sessionId, mtime }) => ({ sessionId, mtime })).sort(byId)).toEqual(
      [...listed].sort(byId),
    );
  }
  expect(new ScrollbackSessionStore({ stores }).listSessionSummaries).toBeUndefined();
});

test("a list of sessions is one request, and mtimes never decrease", async () => {
  const { driver, calls } = watchedDriver();
  const store = new ScrollbackSessionStore({ stores: createStores(driver) });
  const now = vi.spyOn(Date, "now");
  try {
    now.mockReturnValue(2_000_000);
    await store.append(key, [entry("1", "a")]);
    now.mockReturnValue(1_000_000);
    await store.append(key, [entry("2", "b")]);
    await store.append({ ...key, sessionId: "t" }, [entry("2", "b")]);
  } finally {
    now.mockRestore();
  }
  await store.flush();
  calls.length = 0;
  expect(await new ScrollbackSessionStore({ stores: createStores(driver) }).listSessions("p")).toEqual([
    { sessionId: "s", mtime: 2_000_000 },
    { sessionId: "t", mtime: 1_000_000 },
  ]);
  expect(calls).toEqual(["listEntries claude:sessions:p"]);
});

test("a list of more sessions than a page has each once, the most recently written first", async () => {
  const { driver, calls } = watchedDriver();
  const store = new ScrollbackSessionStore({ stores: createStores(driver) });
  const ids = Array.from({ length: 250 }, (_, index) => `${index}`);
  for (const [index, sessionId] of ids.entries()) {
    vi.spyOn(Date, "now").mockReturnValue(1_000_000 + index);
    await store.append({ projectKey: "p", sessionId }, [entry("1")]);
  }
  vi.restoreAllMocks();
  calls.length = 0;
  expect((await store.listSessions("p")).map(({ sessionId }) => sessionId)).toEqual(ids.reverse());
  expect(calls).toEqual(Array(3).fill("listEntries claude:sessions:p"));
});

test("a session is listed if it was stored, at whatever request its creator died", async () => {
  const outcomes: boolean[] = [];
  for (let writesLeft = 0; writesLeft < 4; writesLeft++) {
    const driver = new MemoryDriver();
    const watched = new WatchedDriver(driver);
    watched.writesLeft = writesLeft;
    const dying = new ScrollbackSessionStore({ stores: createStores(watched) });
    await Promise.race([dying.append(key, [entry("1")]), watched.death]);
    const store = new ScrollbackSessionStore({ stores: createStores(driver) });
    outcomes.push((await store.load(key)) !== null);
    expect(await store.listSessions("p")).toHaveLength(outcomes.at(-1) ? 1 : 0);
    await store.flush();
  }
  expect(outcomes).toEqual([false, false, true, true]);
});

test("an append whose list cannot be told is no error, because the SDK would append again", async () => {
  const driver = new MemoryDriver();
  const index = wrappedIndex(driver.index, async (verb, run) => {
    if (verb === "updateEntry" && failures.length === 0)
      throw new StoreError("ABORTED", "the reply was lost");
    return await run();
  });
  const failures: unknown[] = [];
  const onError = (error: unknown) => failures.push(error);
  const store = new ScrollbackSessionStore({
    stores: createStores(Object.assign(driver, { index })),
    onError,
  });
  await store.append(key, [entry("1")]);
  expect(failures).toHaveLength(1);
  expect(await store.load(key)).toHaveLength(1);
  expect(await store.listSessions("p")).toHaveLength(1);
  expect(failures).toHaveLength(1);
});

test("after a backend has lost its indexes, a rebuild lists all sessions and subagents again", async () => {
  const stores = createMemoryStores();
  const store = new ScrollbackSessionStore({ stores });
  for (const sessionId of ["a", "x".repeat(300)])
    for (const one of [{ sessionId }, { sessionId, subpath: "agent" }])
      await store.append({ projectKey: "p", ...one }, [entry("1")]);
  const before = await store.listSessions("p");
  for await (const { index, entry: lost } of iterateEntries(stores)) {
    const { key: name, id } = lost;
    await stores.index(index).remove({ key: name, id });
  }
  expect(await store.listSessions("p")).toEqual([]);
  expect(await rebuildLists(stores)).toEqual({ listed: 4, rebuilt: 4 });
  expect(await store.listSessions("p")).toEqual(before);
  for (const { sessionId } of before)
    expect(await store.listSubkeys({ projectKey: "p", sessionId })).toEqual(["agent"]);
  await store.flush();
});

test("a deletion by another process leaves no name, also if the writer's list is told later", async () => {
  const stores = createMemoryStores();
  for (const isTold of [false, true]) {
    const [writer, deleter] = [1, 2].map(() => new ScrollbackSessionStore({ stores })) as [
      ScrollbackSessionStore,
      ScrollbackSessionStore,
    ];
    const subpath = { ...key, subpath: "subagent" };
    for (const uuid of ["a", "b"])
      for (const one of [key, subpath]) await writer.append(one, [entry("1", uuid)]);
    if (isTold) await writer.flush();
    await deleter.delete(key);
    await deleter.flush();
    await writer.flush();
    expect(await namesIn(stores)).toEqual([]);
  }
});

test("a session whose transcript is damaged is deleted with its subagents", async () => {
  const stores = createMemoryStores();
  const store = new ScrollbackSessionStore({ stores });
  const keys = [key, { ...key, subpath: "damaged" }, { ...key, subpath: "subagent" }];
  for (const one of keys) await store.append(one, [entry("1", "a")]);
  for (const threadId of ["claude:transcript:p:s", "claude:transcript:p:s:damaged"])
    await stores.open(threadId).commit({ metadata: "damaged" });
  await expect(store.load(key)).rejects.toMatchObject({ code: "CORRUPT" });
  await new ScrollbackSessionStore({ stores }).delete(key);
  expect(await namesIn(stores)).toEqual([]);
});
