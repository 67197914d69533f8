import { createMemoryStores, StoreError } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { ScrollbackSessionStore } from "../src/index.ts";
import { declareStoreTests, entry } from "./store-tests.ts";
import { watchedDriver } from "./watched.ts";

const memoryDriver = new MemoryDriver();
declareStoreTests("memory", async () => createStores(memoryDriver));

const key = { projectKey: "p", sessionId: "s" };

test("a retry after a lost reply stores no entry twice", async () => {
  const driver = new MemoryDriver();
  const store = new ScrollbackSessionStore({ stores: createStores(driver) });
  await store.append(key, [entry("1", "a")]);
  const { commit } = driver;
  driver.commit = async (request) => {
    const outcome = await commit.call(driver, request);
    if (!request.threadId.startsWith("claude:transcript")) return outcome;
    throw new StoreError("ABORTED", "the reply was lost");
  };
  await expect(store.append(key, [entry("2", "b")])).rejects.toMatchObject({ code: "ABORTED" });
  driver.commit = commit;
  await store.append(key, [entry("2", "b"), entry("3", "c")]);
  expect((await store.load(key))?.map(({ uuid }) => uuid)).toEqual(["a", "b", "c"]);
});

test("one read loads a transcript of any length: appends are one commit, and replays one read", async () => {
  const { driver, calls } = watchedDriver();
  const stores = createStores(driver);
  const first = new ScrollbackSessionStore({ stores });
  const all = Array.from({ length: 1_500 }, (_, index) => entry("x", `${index}`));
  await first.append(key, all);
  await first.flush();
  const store = new ScrollbackSessionStore({ stores });
  await store.load(key);
  calls.length = 0;
  for (let start = 0; start < 1_500; start += 500) await store.append(key, all.slice(start, start + 500));
  expect(calls).toEqual(Array(3).fill("read claude:transcript:p:s"));
  await store.flush();
  calls.length = 0;
  for (const uuid of ["new 1", "new 2", "new 3"]) await store.append(key, [entry("x", uuid)]);
  expect(calls).toEqual(Array(3).fill("commit claude:transcript:p:s"));
  // The list is told once, with the last append.
  await store.flush();
  expect(calls.slice(3)).toEqual(["updateEntry claude:sessions:p"]);
  expect(await first.load(key)).toHaveLength(1_503);
});

test("entries appended again after a deletion by any process are stored again", async () => {
  const stores = createMemoryStores();
  const [store, other] = [1, 2].map(() => new ScrollbackSessionStore({ stores })) as [
    ScrollbackSessionStore,
    ScrollbackSessionStore,
  ];
  const entries = [entry("1", "a"), entry("2", "b")];
  for (const [deleting, reading] of [
    [store, store],
    [store, other],
    [other, store],
    [other, other],
  ] as const) {
    await store.append(key, entries);
    await deleting.delete(key);
    await store.append(key, entries);
    expect(await reading.load(key)).toEqual(entries);
  }
  // Another process replaces the transcript with other entries.
  await other.delete(key);
  await other.append(key, [entry("3", "c")]);
  await store.append(key, entries);
  expect((await other.load(key))?.map(({ uuid }) => uuid)).toEqual(["c", "a", "b"]);
  for (const one of [store, other]) await one.flush();
});

test("entries whose uuid is null are entries without a uuid", async () => {
  const stores = createMemoryStores();
  const entries = [1, 2].map((n) => ({ type: "x", uuid: null as never, n }));
  for (const store of [1, 2].map(() => new ScrollbackSessionStore({ stores }))) {
    await store.append(key, entries);
    await store.append(key, entries);
    await store.flush();
  }
  const loaded = await new ScrollbackSessionStore({ stores }).load(key);
  expect(loaded).toEqual([...entries, ...entries, ...entries, ...entries]);
});

test("entries are stored as they are when append is called, whatever values they have", async () => {
  const store = new ScrollbackSessionStore({ stores: createMemoryStores() });
  const first = store.append(key, [entry("1", "a")]);
  const home = new URL("https://trams.example/");
  const changing = { type: "x", uuid: "b", home, message: { content: "at the call" } };
  const second = store.append(key, [changing]);
  changing.uuid = "a";
  changing.message.content = "later";
  await Promise.all([first, second]);
  expect(await store.load(key)).toEqual([
    entry("1", "a"),
    { type: "x", uuid: "b", home, message: { content: "at the call" } },
  ]);
  await store.flush();
});

test("more transcripts than memory caches keep their order and their uuids", async () => {
  const store = new ScrollbackSessionStore({ stores: createMemoryStores() });
  const keys = Array.from({ length: 40 }, (_, index) => ({ projectKey: "p", sessionId: `${index}` }));
  const uuids = ["a", "b", "a", "c"];
  await Promise.all(uuids.flatMap((uuid) => keys.map((one) => store.append(one, [entry(uuid, uuid)]))));
  for (const one of keys) expect((await store.load(one))?.map(({ uuid }) => uuid)).toEqual(["a", "b", "c"]);
  await store.flush();
});

test("invalid input is refused before any I/O", async () => {
  const stores = createMemoryStores();
  for (const options of [
    undefined,
    {},
    { stores: {} },
    { stores: createMemoryStores({ maxMessages: 9 }) },
    { stores: createMemoryStores({ ttlMs: 9 }) },
    { stores, foldSessionSummary: 1 },
    { stores, more: 1 },
  ])
    expect(() => new ScrollbackSessionStore(options as never), JSON.stringify(options)).toThrow(
      expect.objectContaining({
        code: "INVALID_ARGUMENT",
        message: expect.stringMatching(/^ScrollbackSessionStore: /),
      }),
    );
  const unlisted = createStores(Object.assign(new MemoryDriver(), { index: undefined }) as never);
  expect(() => new ScrollbackSessionStore({ stores: unlisted })).toThrow(
    expect.objectContaining({ code: "UNSUPPORTED" }),
  );
  const store = new ScrollbackSessionStore({ stores });
  await stores.close();
  const calls = [
    store.append({ projectKey: "", sessionId: "s" }, [entry("1")]),
    store.append({ ...key, subpath: "" }, [entry("1")]),
    store.append(key, {} as never),
    store.append(key, [null as never]),
    store.load({ projectKey: "p", sessionId: "\ud800" }),
    store.load(undefined as never),
    store.listSessions(""),
    store.listSubkeys({ projectKey: "p" } as never),
    store.delete({ ...key, subpath: 5 as never }),
  ];
  for (const call of calls) await expect(call).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await expect(store.load(key)).rejects.toMatchObject({ code: "CLOSED" });
  const { driver, calls: requests } = watchedDriver();
  const open = new ScrollbackSessionStore({ stores: createStores(driver) });
  class Point {
    x = 1;
  }
  for (const value of [() => 1, new Point(), { [Symbol("s")]: 1 }])
    await expect(open.append(key, [entry("1"), { type: "x", values: [value] }])).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringMatching(/^append: entries\[1\]: values\[0\] (is|has) a/),
    });
  const large = entry("x".repeat(17 * 1_024 ** 2));
  await expect(open.append(key, [large])).rejects.toMatchObject({ code: "TOO_LARGE" });
  expect(requests).toEqual([]);
  expect(await open.load(key)).toBeNull();
});
