import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@libsql/client";
import { type ChatMessage, StoreError } from "@scrollback/store-core";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLibsqlStores } from "../src/index.ts";

let directory = "";
let path = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "scrollback-libsql-"));
  path = join(directory, "chats.db");
});
afterEach(() => rmSync(directory, { recursive: true }));

const user = (content: string): ChatMessage => ({ role: "user", content });

async function failure(promise: Promise<unknown>): Promise<StoreError> {
  const error = await promise.then(
    () => expect.unreachable("it did not fail"),
    (error: unknown) => error,
  );
  if (!StoreError.is(error)) throw error;
  return error;
}

/** The number of open files of this process; 0 where it is not known. */
const openFiles = () => (existsSync("/proc/self/fd") ? readdirSync("/proc/self/fd").length : 0);

test("the first call makes the file, with a write-ahead log, and another factory reads it", async () => {
  await using stores = createLibsqlStores({ url: `libsql:${path}` });
  const store = stores.open("a");
  expect(existsSync(path)).toBe(false);
  await store.addMessages([user("hello")]);
  await using others = createLibsqlStores({ url: `file:${path}`, setup: false });
  expect(await others.open("a").listMessages()).toEqual([user("hello")]);
  const client = createClient({ url: `file:${path}` });
  const { rows } = await client.execute("PRAGMA journal_mode");
  expect(rows[0]?.[0]).toBe("wal");
  client.close();
});

test("setup: false makes no tables", async () => {
  await using stores = createLibsqlStores({ url: `libsql:${path}`, setup: false });
  expect(await failure(stores.open("a").addMessages([user("a")]))).toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringContaining("run setup()"),
  });
});

test("tables of the SQLite stores are refused, and stay as they are", async () => {
  await using theirs = createSqliteStores({ url: `sqlite:${path}` });
  await theirs.open("a").addMessages([user("theirs")]);
  const client = createClient({ url: `file:${path}` });
  const tables = async () => (await client.execute("SELECT name, sql FROM sqlite_schema")).rows;
  const before = await tables();
  await using stores = createLibsqlStores({ url: `libsql:${path}` });
  for (const call of [
    () => stores.open("a").addMessages([user("ours")]),
    () => stores.open("a").listMessages(),
  ])
    expect(await failure(call())).toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("use another tablePrefix"),
    });
  expect(await tables()).toEqual(before);
  client.close();
  expect(await theirs.open("a").listMessages()).toEqual([user("theirs")]);
  await using beside = createLibsqlStores({ url: `libsql:${path}`, tablePrefix: "other_" });
  await beside.open("a").addMessages([user("ours")]);
  expect(await beside.open("a").listMessages()).toEqual([user("ours")]);
});

test("C15 while another client writes, the event loop runs, and the commit follows, many tries later", async () => {
  await using stores = createLibsqlStores({ url: `libsql:${path}` });
  const store = stores.open("a");
  await store.addMessages([user("before")]);
  const other = createClient({ url: `file:${path}` });
  const transaction = await other.transaction("write");
  await transaction.execute("CREATE TABLE own (value TEXT)");
  const openBefore = openFiles();
  let ticks = 0;
  const ticker = setInterval(() => {
    ticks += 1;
  }, 10);
  let isAdded = false;
  const added = store.addMessages([user("after")]).then(() => {
    isAdded = true;
  });
  await sleep(600);
  expect(await store.listMessages()).toEqual([user("before")]);
  expect(isAdded).toBe(false);
  await transaction.commit();
  await added;
  clearInterval(ticker);
  // A connection that met the lock would have to be replaced, and its files would stay open.
  expect(openFiles() - openBefore).toBeLessThan(20);
  // A wait that blocks lets none happen.
  expect(ticks).toBeGreaterThan(2);
  expect(await store.listMessages()).toEqual([user("before"), user("after")]);
  await store.addMessages([user("last")]);
  other.close();
});

test("a file that stays locked is UNAVAILABLE, retryable", async () => {
  await using stores = createLibsqlStores({ url: `libsql:${path}` });
  await stores.setup();
  const other = createClient({ url: `file:${path}` });
  const transaction = await other.transaction("write");
  expect(await failure(stores.open("a").addMessages([user("late")]))).toMatchObject({
    code: "UNAVAILABLE",
    retryable: true,
    message: expect.stringContaining("stayed locked"),
  });
  await transaction.rollback();
  await stores.open("a").addMessages([user("late")]);
  other.close();
});

test("a caller's client is never closed", async () => {
  const client = createClient({ url: `file:${path}` });
  const stores = createLibsqlStores({ client, tablePrefix: "chat_" });
  await stores.open("a").addMessages([user("mine")]);
  await stores.close();
  const { rows } = await client.execute("SELECT count(*) FROM chat_heads");
  expect(rows[0]?.[0]).toBe(1);
  client.close();
  await using again = createLibsqlStores({ client, tablePrefix: "chat_" });
  expect(await failure(again.open("a").listMessages())).toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringContaining("client is closed"),
  });
});

test("a directory that is missing, and a file that is not a database, are clear errors", async () => {
  await using missing = createLibsqlStores({ url: `libsql:${join(directory, "deep", "chats.db")}` });
  expect(await failure(missing.open("a").listMessages())).toMatchObject({
    code: "UNAVAILABLE",
    retryable: false,
    message: expect.stringContaining("cannot be opened"),
  });
  mkdirSync(join(directory, "deep"));
  await missing.open("a").addMessages([user("now")]);
  writeFileSync(path, "Dear diary, this is no database. ".repeat(200));
  await using diary = createLibsqlStores({ url: `libsql:${path}` });
  expect(await failure(diary.open("a").listMessages())).toMatchObject({
    code: "UNAVAILABLE",
    retryable: false,
    message: expect.stringContaining("damaged"),
  });
});

test.each(["its own client", "a given client"])(
  "a file that is deleted or replaced while %s has it open is noticed within a second",
  async (client) => {
    const given = client === "its own client" ? undefined : createClient({ url: `file:${path}` });
    await using stores = createLibsqlStores(given ? { client: given } : { url: `libsql:${path}` });
    const store = stores.open("a");
    await store.addMessages([user("a")]);
    const clock = vi.spyOn(performance, "now");
    const start = performance.now();
    clock.mockImplementation(() => start + 1_000);
    renameSync(path, `${path}-moved`);
    const expected = { code: "UNAVAILABLE", message: expect.stringContaining("deleted, moved or replaced") };
    for (const call of [
      () => store.addMessages([user("b")]),
      () => store.read(),
      () => stores.deleteThread("a"),
    ])
      expect(await failure(call())).toMatchObject(expected);
    writeFileSync(path, "another file");
    expect(await failure(store.addMessages([user("b")]))).toMatchObject(expected);
    renameSync(`${path}-moved`, path);
    expect(await store.listMessages()).toEqual([user("a")]);
    clock.mockRestore();
    given?.close();
  },
);

test("a database in memory ends with its factory and is not shared", async () => {
  await using one = createLibsqlStores({ url: "libsql::memory:" });
  await using two = createLibsqlStores({ url: "libsql::memory:" });
  await one.open("a").addMessages([user("hello")]);
  expect(await one.open("a").listMessages()).toEqual([user("hello")]);
  expect(await two.open("a").listMessages()).toEqual([]);
  expect(existsSync(":memory:")).toBe(false);
});
