import { setImmediate as later } from "node:timers/promises";
import { createStores, REMEMBERED_OPERATIONS } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { MemoryRecordLog, RecordLogDriver } from "../src/index.ts";
import { addEach, contentsOf, DAY, THREAD, uniformScene, user } from "./scenes.ts";

test("a row of a newer format version fails with CORRUPT and says what to upgrade", async () => {
  const log = new MemoryRecordLog();
  await log.insert("t", { number: Date.now() * 2048, head: '{"v":2}', texts: [] });
  const store = createStores(new RecordLogDriver(log)).open("t");
  await expect(store.listMessages()).rejects.toMatchObject({
    code: "CORRUPT",
    message: expect.stringMatching(/upgrade @scrollback\/store-core/),
  });
  await expect(store.addMessages([user("x")])).rejects.toMatchObject({ code: "CORRUPT" });
});

test("metadata of a newer format version fails with CORRUPT and says what to upgrade", async () => {
  const log = new MemoryRecordLog();
  const store = createStores(new RecordLogDriver(log)).open("t");
  await store.commit({ append: [user("x")], metadata: { title: "x" } });
  const [row] = await log.read("t", Number.POSITIVE_INFINITY, 1);
  log.plant("t", row?.number ?? 0, 1, '2m{"title":"from the future"}');
  await expect(store.read()).rejects.toMatchObject({
    code: "CORRUPT",
    message: expect.stringMatching(/metadata.*version 2.*upgrade @scrollback\/store-core/),
  });
  expect(await store.listMessages()).toEqual([user("x")]);
});

test("no commit follows a row with the last number, with or without a thread", async () => {
  const log = new MemoryRecordLog();
  const store = createStores(new RecordLogDriver(log)).open("t");
  await store.addMessages([user("x")]);
  const [row] = await log.read("t", Number.POSITIVE_INFINITY, 1);
  const last = { texts: [], ...row, number: Number.MAX_SAFE_INTEGER, head: row?.head ?? "" };
  for (const stream of ["t", "u"]) {
    await log.insert(stream, last);
    await expect(
      createStores(new RecordLogDriver(log))
        .open(stream)
        .addMessages([user("y")]),
    ).rejects.toMatchObject({
      code: "CORRUPT",
      message: "log row 9007199254740991 is damaged: no row can follow it",
    });
  }
});

test("a thread with new writes is kept longer than the expiry of its first rows", async () => {
  const { open, wait, log } = uniformScene({ ttlMs: 2 * DAY, maxRowBytes: 64 * 1024 });
  const { store } = open();
  await store.commit({
    append: [{ role: "system", content: "s" }, user("z".repeat(100_000))],
    metadata: { a: 1 },
  });
  await addEach(store, 300, "m");
  for (let day = 0; day < 40; day++) {
    wait(DAY);
    await store.addMessages([user(`day ${day}`)]);
  }
  const page = await open().store.read();
  expect(page.entries).toHaveLength(342);
  expect(page.metadata).toEqual({ a: 1 });
  expect(page.entries[1]?.message.content).toHaveLength(100_000);
  wait(8 * DAY);
  expect(await contentsOf(open().store)).toEqual([]);
  expect(
    log.rowsOf(THREAD).map(({ number }) => number),
    "the root is kept for longer",
  ).toEqual([1]);
  wait(30 * DAY);
  expect(log.rowsOf(THREAD)).toEqual([]);
});

test("a commit whose acknowledgement is lost is not lost", async () => {
  const { open } = uniformScene();
  const { log, store } = open();
  await store.addMessages([user("a")]);
  log.after = async ({ verb }) => {
    if (verb !== "insert") return;
    log.after = async () => undefined;
    throw new Error("cut");
  };
  await expect(store.addMessages([user("b")], { operationId: "b" })).rejects.toMatchObject({
    code: "UNAVAILABLE",
  });
  await store.addMessages([user("b")], { operationId: "b" });
  expect(await contentsOf(store)).toEqual(["a", "b"]);
});

test.each([
  ["fails after its insert", () => Promise.reject(new Error("cut"))],
  ["is told that its key is taken, by its own row", () => Promise.resolve(false)],
])("a commit that %s takes effect once, after any number of other commits", async (_, answer) => {
  const { log, open } = uniformScene();
  const { log: gated, store } = open();
  await store.addMessages([user("a")]);
  gated.answer = async () => {
    gated.answer = undefined;
    await addEach(open().store, 200, "");
    return await answer();
  };
  const revision = await store.addMessages([user("once")], { operationId: "o" }).catch(async () => {
    expect(log.rowsOf(THREAD)).toHaveLength(1 + 202);
    return await store.addMessages([user("once")], { operationId: "o" });
  });
  expect(revision).toMatch(/\.2$/);
  expect((await contentsOf(store)).filter((text) => text === "once")).toHaveLength(1);
  // A thread remembers a limited number of operations, so a later call with the same id is a new operation.
  await addEach(store, REMEMBERED_OPERATIONS, "later");
  await store.addMessages([user("again")], { operationId: "o" });
  expect((await contentsOf(store)).at(-1)).toBe("again");
});

test("a commit during the expiry of its thread continues the thread or fails with CONFLICT, and creates no new thread", async () => {
  const ttlMs = 1_000;
  for (let step = 50; step < ttlMs; step += 50) {
    let [now, isTicking] = [Date.now(), false];
    const wall = () => {
      if (isTicking) now += step;
      return now;
    };
    const clock = { wall, monotonic: () => 0, sleep: () => later() };
    const driver = new RecordLogDriver(new MemoryRecordLog(), { clock });
    const store = createStores(driver, { ttlMs }).open("t");
    const first = await store.addMessages([user("a")]);
    isTicking = true;
    const next = await store.addMessages([user("b")], { expectedRevision: first }).catch((error: unknown) => {
      expect(error).toMatchObject({ code: "CONFLICT" });
    });
    if (next) expect(next).toBe(first?.replace(/1$/, "2"));
  }
});

test("dropped text is removed when clear returns, also if clear failed after its insert and is repeated", async () => {
  const { log, open } = uniformScene();
  const { log: gated, store } = open();
  await addEach(store, 5, "secret");
  gated.before = async ({ verb }) => {
    if (verb === "amend") throw new Error("cut");
  };
  await expect(store.clear({ operationId: "c" })).rejects.toMatchObject({ code: "UNAVAILABLE" });
  gated.before = async () => undefined;
  await open().store.clear({ operationId: "c" });
  expect(JSON.stringify(log.rowsOf(THREAD))).not.toContain("secret");
});
