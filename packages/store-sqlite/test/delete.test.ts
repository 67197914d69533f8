import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { createStores } from "@scrollback/store-core/driver";
import { afterEach, expect, test, vi } from "vitest";
import { createSqliteStores } from "../src/index.ts";
import { connect } from "./harness.ts";
import { user, users } from "./messages.ts";
import { failure, useScratch } from "./scratch.ts";

const scratch = useScratch();

afterEach(() => {
  vi.useRealTimers();
});

const tables = ["threads", "commits", "messages", "metadata"];
const rows = () => tables.map((table) => scratch.query(`SELECT 1 FROM scrollback_${table}`).length);

/** The files that contain a word. */
const grep = (word: string): string[] =>
  readdirSync(scratch.directory).filter((name) => readFileSync(join(scratch.directory, name)).includes(word));

test("C21 when a deletion returns, no file contains the thread's content, id or operation ids", async () => {
  await using stores = createSqliteStores({ url: scratch.url });
  await stores.open("other").addMessages(users(50, "kept"));
  const store = stores.open("private-name@example.com");
  for (let turn = 0; turn < 21; turn++) {
    const change = { append: users(5, "private-word"), metadata: "private-title" };
    await store.commit(change, { operationId: `private-operation-${turn}` });
    await stores.open("other").addMessages(users(5, "kept"));
  }
  for (const word of ["name", "word", "title", "operation"]) {
    expect(grep(`private-${word}`), word).not.toEqual([]);
  }
  await stores.deleteThread(store.threadId);
  expect(grep("private-")).toEqual([]);
  expect(grep("kept")).toEqual([basename(scratch.path)]);
  expect(await store.read()).toEqual({ entries: [], revision: null, count: 0 });
  await stores.deleteThread("other");
  expect(rows()).toEqual([0, 0, 0, 0]);
});

test("C21 deleting an id removes the remains of its expired thread, also if it was written again", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  await using stores = createSqliteStores({ url: scratch.url, ttlMs: 1_000 });
  await stores.open("a").commit({ append: users(2_500), metadata: "title" });
  vi.advanceTimersByTime(1_000);
  await stores.deleteThread("a", { expectedRevision: null });
  expect(rows()).toEqual([0, 0, 0, 0]);

  await stores.open("a").addMessages(users(2_500));
  vi.advanceTimersByTime(1_000);
  await stores.open("a").addMessages([user("anew")]);
  expect(rows()[0]).toBe(2);
  await stores.deleteThread("a");
  expect(rows()).toEqual([0, 0, 0, 0]);
});

test("C21 a deleted thread of 100,000 messages disappears for readers at once, and is removed without blocking the event loop", async () => {
  const count = 100_000;
  const left = () => Number(scratch.query("SELECT count(*) AS count FROM scrollback_messages")[0]?.count);
  await using stores = createSqliteStores({ url: scratch.url });
  await using others = createSqliteStores({ url: scratch.url });
  await stores.open("a").commit({ append: users(count), metadata: "title" });
  await others.open("b").addMessages([user("b")]);
  let isDone = false;
  let longest = 0;
  let total = 0;
  const seen = new Set<number>();
  const watching = (async () => {
    for (; !isDone; await setImmediate()) {
      const { length } = await others.open("a").listMessages({ limit: 10 });
      if (length === 0) seen.add(left());
      else expect(length).toBe(10);
    }
  })();
  const deleting = stores.deleteThread("a").finally(() => {
    isDone = true;
  });
  // CPU time of this thread: on a busy machine any step may take long in real time, and others collect garbage.
  let last = process.threadCpuUsage();
  while (!isDone) {
    await setImmediate();
    const { user, system } = process.threadCpuUsage(last);
    longest = Math.max(longest, user + system);
    total += user + system;
    last = process.threadCpuUsage();
  }
  await deleting;
  await watching;
  // The thread was read as empty while most of its messages were still stored.
  expect(Math.max(...seen)).toBeGreaterThan(count / 2);
  expect(seen.size).toBeGreaterThan(count / 1_000 / 4);
  // Measured: a twelfth, the first step. A single step would take nearly all of it.
  expect(longest).toBeLessThan(total / 3);
  expect(left()).toBe(1);
  expect(grep("hello 99999")).toEqual([]);
});

test("C21 a deletion that leaves rows behind fails and says so, and the next call removes them", async () => {
  const client = new DatabaseSync(scratch.path);
  await using stores = createSqliteStores({ client });
  await stores.open("a").addMessages(users(2_500));
  // The first step removes 1,000 messages; the second one fails.
  client.exec(
    "CREATE TEMP TRIGGER refuse BEFORE DELETE ON scrollback_messages WHEN old.sequence = 1500 BEGIN SELECT RAISE(FAIL, 'no'); END",
  );
  expect(await failure(stores.deleteThread("a"))).toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringContaining("some of it is still in the file; repeat the call"),
  });
  expect(await stores.open("a").read()).toMatchObject({ revision: null });
  expect(rows()[2]).toBe(1_500);
  client.exec("DROP TRIGGER temp.refuse");
  await stores.deleteThread("a");
  expect(rows()).toEqual([0, 0, 0, 0]);
  client.close();
});

test("C21 an interrupted deletion is completed by later commits", async () => {
  const driver = connect(scratch.path);
  const stores = createStores(driver);
  await stores.open("a").addMessages(users(5_000));
  const deleting = stores.deleteThread("a");
  await stores.open("b").addMessages([user("b")]);
  const ended = failure(deleting);
  await stores.close();
  expect(await ended).toMatchObject({ code: "CLOSED" });
  expect(rows()[2]).toBeGreaterThan(2_000);
  await using again = createSqliteStores({ url: scratch.url });
  expect(await again.open("a").read()).toMatchObject({ revision: null });
  expect((await again.listThreads()).threads).toMatchObject([{ threadId: "b" }]);
  for (let commit = 0; commit < 50; commit++) await again.open("b").commit({ metadata: commit });
  expect(rows().slice(0, 1)).toEqual([1]);
  expect(rows()[2]).toBe(1);
});
