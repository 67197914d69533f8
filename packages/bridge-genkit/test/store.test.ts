import type { SessionSnapshot } from "@genkit-ai/ai/session";
import { GenkitError } from "@genkit-ai/core";
import { createMemoryStores, StoreError } from "@scrollback/store-core";
import { gzipCodec } from "@scrollback/store-core/codecs";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { ScrollbackSessionStore } from "../src/index.ts";
import { snapshotOf } from "./snapshots.ts";
import { declareStoreTests } from "./store-tests.ts";

const memoryDriver = new MemoryDriver();
declareStoreTests("memory", async () => createStores(memoryDriver));

const sessionId = "s";
const save = (store: ScrollbackSessionStore, snapshot: SessionSnapshot) =>
  store.saveSnapshot(snapshot.snapshotId, () => snapshot);

test("a session's snapshot is the newest of its leaves, or several leaves are refused", async () => {
  const stores = createMemoryStores();
  const store = new ScrollbackSessionStore({ stores });
  const strict = new ScrollbackSessionStore({ stores, rejectBranchingSessions: true });
  const late = snapshotOf("late", { sessionId, parentId: "root", createdAt: "2030-01-01T00:00:00.000Z" });
  for (const snapshot of [snapshotOf("root", { sessionId }), late]) await save(store, snapshot);
  expect((await strict.getSnapshot({ sessionId }))?.snapshotId).toBe("late");
  await save(store, snapshotOf("early", { sessionId, parentId: "root" }));
  expect((await store.getSnapshot({ sessionId }))?.snapshotId).toBe("late");
  await expect(strict.getSnapshot({ sessionId })).rejects.toMatchObject({ status: "FAILED_PRECONDITION" });
  await save(store, snapshotOf("root", { sessionId, parentId: "late" }));
  await save(store, snapshotOf("late", { sessionId, parentId: "root" }));
  await save(store, snapshotOf("early", { sessionId, parentId: "early" }));
  await expect(store.getSnapshot({ sessionId })).rejects.toThrow(GenkitError);
});

test("a process that dies between the note and the snapshot leaves the session as it was", async () => {
  const driver = new MemoryDriver();
  const stores = createStores(driver);
  const store = new ScrollbackSessionStore({ stores });
  const strict = new ScrollbackSessionStore({ stores, rejectBranchingSessions: true });
  await save(store, snapshotOf("one", { sessionId }));
  const { commit } = driver;
  driver.commit = async (request) => {
    if (request.threadId.startsWith("genkit:snapshot")) throw new Error("the process died");
    return await commit.call(driver, request);
  };
  for (const id of ["two", "three"])
    await expect(save(store, snapshotOf(id, { sessionId, parentId: "one" }))).rejects.toThrow(StoreError);
  driver.commit = commit;
  for (const one of [store, strict]) expect((await one.getSnapshot({ sessionId }))?.snapshotId).toBe("one");
  await save(store, snapshotOf("two", { sessionId, parentId: "one" }));
  for (const one of [store, strict]) expect((await one.getSnapshot({ sessionId }))?.snapshotId).toBe("two");
});

test("a snapshot saved for another session is removed from the first one", async () => {
  const store = new ScrollbackSessionStore({ stores: createMemoryStores() });
  await save(store, snapshotOf("one", { sessionId }));
  await save(store, snapshotOf("one", { state: { sessionId: "t" } }));
  expect(await store.getSnapshot({ sessionId })).toBeUndefined();
  expect((await store.getSnapshot({ sessionId: "t" }))?.snapshotId).toBe("one");
});

test("a scope's snapshots are invisible in other scopes, with any names", async () => {
  const stores = createMemoryStores();
  const store = new ScrollbackSessionStore({ stores, scope: (context) => String(context?.auth?.tenant) });
  const as = (tenant: string) => ({ context: { auth: { tenant } } });
  await store.saveSnapshot("one", () => snapshotOf("one", { sessionId }), as("a"));
  await store.saveSnapshot("b:one", () => snapshotOf("b:one", { sessionId: "b:s" }), as("a"));
  expect(await store.getSnapshot({ snapshotId: "one", ...as("a") })).toBeDefined();
  for (const found of [
    store.getSnapshot({ snapshotId: "one", ...as("a:b") }),
    store.getSnapshot({ sessionId, ...as("a:b") }),
    new ScrollbackSessionStore({ stores }).getSnapshot({ snapshotId: "one" }),
  ])
    expect(await found).toBeUndefined();
  const reported: string[] = [];
  const end = store.onSnapshotStateChange("one", ({ snapshotId }) => reported.push(snapshotId), as("b"));
  await store.saveSnapshot("one", (current) => current ?? null, as("a"));
  end();
  expect(reported).toEqual([]);
  await expect(
    new ScrollbackSessionStore({ stores, scope: () => "" }).getSnapshot({ snapshotId: "one" }),
  ).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("a lookup trims a session's log to its leaves, also if no leaf was noted last", async () => {
  const stores = createMemoryStores();
  const store = new ScrollbackSessionStore({ stores });
  let parentId: string | undefined;
  for (let turn = 0; turn <= 100; turn++) {
    const id = `turn ${turn}`;
    await save(store, snapshotOf(id, { sessionId, ...(parentId !== undefined && { parentId }) }));
    if (turn === 10) await save(store, snapshotOf("branch", { sessionId, parentId: "turn 3" }));
    parentId = id;
  }
  const log = stores.open("genkit:session:s");
  expect(await log.listMessages()).toHaveLength(204);
  expect((await store.getSnapshot({ sessionId }))?.snapshotId).toBe("turn 100");
  // The newest snapshot with two ancestors, and the branch with two.
  expect(await log.listMessages()).toHaveLength(6);
  // A process noted a snapshot, and died before it wrote the snapshot: the previous one is a leaf again.
  const never = { id: "never", parentId: "turn 100", createdAt: "2040" };
  for (let note = 0; note < 64; note++)
    await log.addMessages([{ role: "user", content: "", metadata: never }]);
  await save(store, snapshotOf("branch 2", { sessionId, parentId: "turn 3" }));
  await store.saveSnapshot("branch 2", (current) => (current ? { ...current, createdAt: "2000" } : null));
  for (let lookup = 0; lookup < 2; lookup++)
    expect((await store.getSnapshot({ sessionId }))?.snapshotId).toBe("turn 100");
  expect((await log.listMessages()).length).toBeLessThanOrEqual(10);
  expect(await store.getSnapshot({ snapshotId: "turn 100" })).toBeDefined();
  const strict = new ScrollbackSessionStore({ stores, rejectBranchingSessions: true });
  await expect(strict.getSnapshot({ sessionId })).rejects.toMatchObject({ status: "FAILED_PRECONDITION" });
});

test("a lookup succeeds without write access, and does not rewrite a log of many leaves", async () => {
  const driver = new MemoryDriver();
  const store = new ScrollbackSessionStore({ stores: createStores(driver) });
  for (let turn = 0; turn < 80; turn++)
    await save(store, snapshotOf(`turn ${turn}`, { sessionId, createdAt: `${2_000 + turn}` }));
  const commit = driver.commit.bind(driver);
  let commits = 0;
  driver.commit = async () => {
    commits++;
    throw new StoreError("UNAVAILABLE", "read only", { retryable: false });
  };
  expect((await store.getSnapshot({ sessionId }))?.snapshotId).toBe("turn 79");
  expect(commits).toBe(1);
  driver.commit = commit;
  await store.getSnapshot({ sessionId });
  driver.commit = async () => {
    throw new Error("the log is rewritten with each lookup");
  };
  expect((await store.getSnapshot({ sessionId }))?.snapshotId).toBe("turn 79");
});

test("with ttlMs, a session expires with its last written snapshot, and older snapshots expire before", async () => {
  let now = 1_000;
  const driver = new MemoryDriver({ clock: { wall: () => now } });
  const stores = createStores(driver, { ttlMs: 1_000 });
  const store = new ScrollbackSessionStore({ stores });
  await save(store, snapshotOf("one", { sessionId }));
  await save(store, snapshotOf("two", { sessionId, parentId: "one" }));
  for (let beat = 0; beat < 3; beat++) {
    now += 900;
    await store.saveSnapshot("two", (current) => (current ? { ...current, heartbeatAt: `${beat}` } : null));
  }
  expect(await store.getSnapshot({ snapshotId: "one" })).toBeUndefined();
  expect((await store.getSnapshot({ sessionId }))?.heartbeatAt).toBe("2");
  now += 1_001;
  expect(await store.getSnapshot({ sessionId })).toBeUndefined();
});

test("a save of a known snapshot is one read and one commit, a new one also notes its session", async () => {
  const driver = new MemoryDriver();
  const calls: string[] = [];
  for (const name of ["commit", "read"] as const) {
    const method = driver[name].bind(driver) as (request: { threadId: string }) => never;
    driver[name] = (request: { threadId: string }) => {
      calls.push(`${name} ${request.threadId}`);
      return method(request);
    };
  }
  const store = new ScrollbackSessionStore({ stores: createStores(driver) });
  await save(store, snapshotOf("one", { sessionId, createdAt: "2030" }));
  await save(store, snapshotOf("one", { sessionId, createdAt: "2030", status: "completed" }));
  await store.getSnapshot({ sessionId });
  expect(calls).toEqual([
    ...["read genkit:snapshot:one", "commit genkit:session:s", "commit genkit:snapshot:one"],
    "commit genkit:session:s",
    ...["read genkit:snapshot:one", "commit genkit:snapshot:one"],
    ...["read genkit:session:s", "read genkit:snapshot:one"],
  ]);
});

test("a session is deleted with all its snapshots, also those trimmed from its log", async () => {
  const driver = new MemoryDriver();
  const store = new ScrollbackSessionStore({ stores: createStores(driver) });
  let parentId: string | undefined;
  for (let turn = 0; turn < 80; turn++) {
    const snapshotId = `turn ${turn}`;
    await save(store, snapshotOf(snapshotId, { sessionId, ...(parentId !== undefined && { parentId }) }));
    parentId = snapshotId;
  }
  // The lookup leaves the names of three snapshots in the log.
  await store.getSnapshot({ sessionId });
  await save(store, snapshotOf("branch", { sessionId, parentId: "turn 30" }));
  await save(store, snapshotOf("neighbour", { sessionId: "t", parentId: "turn 30" }));
  // The process dies after some deletions.
  const remove = driver.delete.bind(driver);
  let deletions = 0;
  driver.delete = async (request) => {
    if (deletions++ === 20) throw new StoreError("ABORTED", "the process died");
    return await remove(request);
  };
  await expect(store.deleteSession(sessionId)).rejects.toMatchObject({ code: "ABORTED" });
  expect((await store.getSnapshot({ sessionId }))?.snapshotId).toBe("branch");
  await store.deleteSession(sessionId);
  expect(await store.getSnapshot({ sessionId })).toBeUndefined();
  for (const snapshotId of [...Array.from({ length: 80 }, (_, turn) => `turn ${turn}`), "branch"])
    expect(await store.getSnapshot({ snapshotId }), snapshotId).toBeUndefined();
  expect((await store.getSnapshot({ sessionId: "t" }))?.snapshotId).toBe("neighbour");
  // The 81 snapshots and the log, and the one deletion that failed.
  expect(deletions).toBe(83);
  await store.deleteSession(sessionId);
});

test("a mutator that throws changes nothing, and values that cannot be stored are refused", async () => {
  const stores = createMemoryStores();
  const store = new ScrollbackSessionStore({ stores });
  const failing = () => {
    throw new Error("precondition");
  };
  await expect(store.saveSnapshot("one", failing)).rejects.toThrow("precondition");
  const odd = snapshotOf("one", { sessionId, state: { custom: { call: () => 1 } } });
  await expect(save(store, odd)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  const large = snapshotOf("one", { sessionId, state: { custom: "x".repeat(65 * 1_024 ** 2) } });
  await expect(save(store, large)).rejects.toMatchObject({ code: "TOO_LARGE" });
  expect((await stores.listThreads()).threads).toEqual([]);
  expect(await store.getSnapshot({ snapshotId: "one" })).toBeUndefined();
  const compressed = new ScrollbackSessionStore({ stores: createMemoryStores({ codec: gzipCodec() }) });
  const pieces = snapshotOf("one", { sessionId, state: { custom: "x".repeat(17 * 1_024 ** 2) } });
  expect(await save(compressed, pieces)).toBe("one");
});

test("a class instance is refused with its place, and what a store carries is not replaced", async () => {
  const store = new ScrollbackSessionStore({ stores: createMemoryStores() });
  class Point {
    x = 1;
  }
  const refused = save(store, snapshotOf("one", { sessionId, state: { custom: { at: [new Point()] } } }));
  await expect(refused).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining("saveSnapshot: snapshot: state.custom.at[0] is an instance of Point"),
  });
  expect(await store.getSnapshot({ snapshotId: "one" })).toBeUndefined();
  const seen = Promise.withResolvers<unknown>();
  using _ = {
    [Symbol.dispose]: store.onSnapshotStateChange("one", ({ state }) => seen.resolve(state?.custom)),
  };
  const custom = { home: new URL("https://trams.example/") };
  await save(store, snapshotOf("one", { sessionId, state: { custom } }));
  expect((await store.getSnapshot({ snapshotId: "one" }))?.state?.custom).toEqual(custom);
  expect(await seen.promise).toEqual(custom);
});

test("invalid input is refused before any I/O", async () => {
  const stores = createMemoryStores();
  for (const options of [
    undefined,
    {},
    { stores: {} },
    { stores: createMemoryStores({ maxMessages: 9 }) },
    { stores, pollIntervalMs: 0 },
    { stores, pollIntervalMs: 2 ** 31 },
    { stores, onError: 1 },
    { stores, scope: "a" },
    { stores, more: 1 },
  ])
    expect(() => new ScrollbackSessionStore(options as never), JSON.stringify(options)).toThrow(
      expect.objectContaining({
        code: "INVALID_ARGUMENT",
        message: expect.stringMatching(/^ScrollbackSessionStore: /),
      }),
    );
  const store = new ScrollbackSessionStore({ stores });
  await stores.close();
  for (const options of [{}, { snapshotId: "a", sessionId: "b" }, { snapshotId: "" }])
    await expect(store.getSnapshot(options)).rejects.toMatchObject({ status: "INVALID_ARGUMENT" });
  const refused = { code: "INVALID_ARGUMENT" };
  await expect(store.getSnapshot({ snapshotId: "x".repeat(1_025) })).rejects.toMatchObject(refused);
  await expect(store.getSnapshot({ sessionId: "\ud800" })).rejects.toMatchObject(refused);
  const snapshot = snapshotOf("a");
  for (const call of [
    store.getSnapshot(undefined as never),
    store.getSnapshot(null as never),
    store.getSnapshot({ snapshotId: 5 as never }),
    store.getSnapshot({ snapshotId: "a", contxt: {} } as never),
    store.saveSnapshot("a", () => snapshot, { contxt: {} } as never),
    store.deleteSession("a", { contxt: {} } as never),
    store.saveSnapshot("a", undefined as never),
    store.saveSnapshot(5 as never, () => snapshot),
    store.saveSnapshot("a", () => snapshot, null as never),
    store.saveSnapshot(undefined, () => undefined as never),
    store.saveSnapshot(undefined, (async () => snapshot) as never),
    store.deleteSession(undefined as never),
    store.deleteSession("a", null as never),
  ])
    await expect(call).rejects.toMatchObject(refused);
  for (const watch of [
    () => store.onSnapshotStateChange("a", undefined as never),
    () => store.onSnapshotStateChange(undefined as never, () => undefined),
    () => store.onSnapshotStateChange("a", () => undefined, null as never),
    () => store.onSnapshotStateChange("a", () => undefined, { contxt: {} } as never),
  ])
    expect(watch).toThrow(expect.objectContaining(refused));
  await expect(store.saveSnapshot("\ud800", () => snapshotOf("a"))).rejects.toMatchObject(refused);
  await expect(store.getSnapshot({ snapshotId: "a" })).rejects.toMatchObject({ code: "CLOSED" });
});
