import { renameSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { createSqliteStores } from "../src/index.ts";
import { clients } from "./clients.ts";
import { user, users } from "./messages.ts";
import { failure, useScratch } from "./scratch.ts";

const scratch = useScratch();

describe.each(clients)("a caller's client of $kind", ({ open }) => {
  test("is never closed and keeps its pragmas", async () => {
    const client = open(scratch.path);
    client.exec("PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 7");
    const stores = createSqliteStores({ client });
    await stores.open("a").addMessages([user("mine")]);
    client.exec("PRAGMA busy_timeout = 8");
    await stores.open("b").addMessages([user("mine too")]);
    await stores.deleteThread("b");
    await stores.close();
    await stores.close();
    expect(client.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "delete" });
    expect(client.prepare("PRAGMA synchronous").get()).toEqual({ synchronous: 1 });
    expect(client.prepare("PRAGMA busy_timeout").get()).toEqual({ timeout: 8 });
    expect(client.prepare("PRAGMA secure_delete").get()).toEqual({ secure_delete: 0 });
    await using again = createSqliteStores({ client });
    expect(await again.open("a").listMessages()).toEqual([user("mine")]);
    client.close();
  });

  test("C15 waits for a lock without blocking the event loop, whatever its busy timeout is", async () => {
    const other = open(scratch.path);
    const client = open(scratch.path, { timeout: 5_000 });
    await using stores = createSqliteStores({ client });
    const holding = async (work: () => Promise<unknown>) => {
      other.exec("BEGIN EXCLUSIVE");
      let ticks = 0;
      const ticker = setInterval(() => {
        ticks += 1;
        if (ticks === 10) other.exec("COMMIT");
      }, 10);
      try {
        await work();
      } finally {
        clearInterval(ticker);
      }
      // With a blocked event loop the other transaction would never end, and the call would fail after the timeout.
      expect(ticks).toBeGreaterThanOrEqual(10);
    };
    await holding(() => stores.open("a").addMessages([user("first")]));
    await holding(() => stores.open("a").addMessages([user("second")]));
    await holding(() => stores.open("a").listMessages());
    expect(await stores.open("a").listMessages()).toEqual([user("first"), user("second")]);
    expect(client.prepare("PRAGMA busy_timeout").get()).toEqual({ timeout: 5_000 });
    other.close();
    client.close();
  });

  test("that is read-only serves reads and rejects writes with a clear error", async () => {
    const writer = open(scratch.path);
    await using stores = createSqliteStores({ client: writer });
    await stores.open("a").addMessages([user("kept")]);
    const client = open(scratch.path, { readOnly: true });
    await using readers = createSqliteStores({ client });
    expect(await readers.open("a").listMessages()).toEqual([user("kept")]);
    expect(await failure(readers.open("a").addMessages([user("x")]))).toMatchObject({
      code: "UNAVAILABLE",
      retryable: false,
      message: expect.stringContaining("read-only"),
    });
    expect(await failure(readers.setup())).toMatchObject({ message: expect.stringContaining("read-only") });
    client.close();
    writer.close();
  });

  test("that was closed since fails with UNAVAILABLE", async () => {
    const [client, unused] = [open(scratch.path), open(scratch.path)];
    await using stores = createSqliteStores({ client });
    await using unopened = createSqliteStores({ client: unused });
    await stores.open("a").addMessages([user("x")]);
    client.close();
    unused.close();
    const expected = { code: "UNAVAILABLE", message: expect.stringContaining("closed") };
    expect(await failure(stores.open("a").listMessages())).toMatchObject(expected);
    expect(await failure(unopened.open("a").listMessages())).toMatchObject(expected);
  });

  test("in a transaction of its owner waits for the end of the transaction, which stays the owner's", async () => {
    const client = open(scratch.path);
    client.exec("CREATE TABLE own (value TEXT)");
    await using stores = createSqliteStores({ client });
    await stores.setup();
    client.exec("BEGIN; INSERT INTO own VALUES ('kept')");
    const added = stores.open("a").addMessages([user("after")]);
    await new Promise((resolve) => setTimeout(resolve, 60));
    client.exec("ROLLBACK");
    await added;
    expect(client.prepare("SELECT * FROM own").all()).toEqual([]);
    expect(await stores.open("a").listMessages()).toEqual([user("after")]);
    client.close();
  });

  test("whose owner iterates over rows waits for the end of the iteration, or reads beside it", async () => {
    const client = open(scratch.path);
    client.exec("CREATE TABLE own (value TEXT); INSERT INTO own VALUES ('a'), ('b')");
    await using stores = createSqliteStores({ client });
    const rows = client.prepare("SELECT value FROM own").iterate();
    rows.next();
    const added = stores.open("a").addMessages([user("after")]);
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect([...rows]).toHaveLength(1);
    await added;
    expect(await stores.open("a").listMessages()).toEqual([user("after")]);
    client.close();
  });

  test("receives no commit that was waiting when the factory was closed", async () => {
    const client = open(scratch.path);
    const stores = createSqliteStores({ client });
    await stores.setup();
    client.exec("BEGIN");
    const added = failure(stores.open("a").addMessages([user("never")]));
    await stores.close();
    client.exec("ROLLBACK");
    expect(await added).toMatchObject({ code: "CLOSED" });
    expect(client.prepare("SELECT * FROM scrollback_threads").all()).toEqual([]);
    client.close();
  });

  test("can have tables of other programs, which are not used", async () => {
    const client = open(scratch.path);
    client.exec("CREATE TABLE scrollback_threads (title TEXT)");
    await using stores = createSqliteStores({ client });
    expect(await failure(stores.open("a").listMessages())).toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("tablePrefix"),
    });
    expect(client.prepare("SELECT name FROM sqlite_schema").all()).toEqual([{ name: "scrollback_threads" }]);
    client.close();
  });

  test("on a full disk fails without changing the thread", async () => {
    const client = open(scratch.path);
    await using stores = createSqliteStores({ client });
    const store = stores.open("a");
    await store.addMessages(users(3));
    const { page_count: pages } = client.prepare("PRAGMA page_count").get() as { page_count: number };
    client.exec(`PRAGMA max_page_count = ${pages + 1}`);
    expect(await failure(store.addMessages([user("small"), user("x".repeat(100_000))]))).toMatchObject({
      code: "UNAVAILABLE",
      retryable: false,
      message: expect.stringContaining("disk is full"),
    });
    expect(await store.listMessages()).toEqual(users(3));
    client.close();
  });

  test("on a file that is not a database is CORRUPT", async () => {
    writeFileSync(scratch.path, "Dear diary, this is no database. ".repeat(200));
    const client = open(scratch.path);
    await using stores = createSqliteStores({ client });
    expect(await failure(stores.open("a").listMessages())).toMatchObject({
      code: "CORRUPT",
      message: expect.stringContaining("not a SQLite database"),
    });
    client.close();
  });

  test("with a number that no version writes is CORRUPT", async () => {
    const client = open(scratch.path);
    await using stores = createSqliteStores({ client });
    await stores.open("a").addMessages(users(3));
    client.exec("UPDATE scrollback_commits SET updated_at = 9007199254740993");
    expect(await failure(stores.open("a").read())).toMatchObject({ code: "CORRUPT" });
    client.close();
  });

  test("whose file was moved fails", async () => {
    const client = open(scratch.path);
    await using stores = createSqliteStores({ client });
    await stores.open("a").addMessages(users(3));
    renameSync(scratch.path, `${scratch.path}.old`);
    await new Promise((resolve) => setTimeout(resolve, 510));
    expect(await failure(stores.open("a").addMessages(users(1)))).toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("moved"),
    });
    client.close();
  });

  test("in memory is not shared", async () => {
    const client = open(":memory:");
    await using stores = createSqliteStores({ client, setup: false });
    await stores.open("a").addMessages(users(2));
    expect(await stores.open("a").listMessages()).toEqual(users(2));
    client.close();
  });
});

describe("a caller's client", () => {
  test("of node:sqlite can have any row format as its default", async () => {
    const client = new DatabaseSync(scratch.path, { readBigInts: true, returnArrays: true });
    await using stores = createSqliteStores({ client, maxMessages: 2 });
    const store = stores.open("a");
    await store.commit({ append: users(3), metadata: "title" });
    await store.addMessages([user("more")]);
    expect(await store.read()).toMatchObject({
      entries: [{ sequence: 3 }, { sequence: 4 }],
      metadata: "title",
    });
    client.close();
  });

  test("of a version of Node whose rows always have names", async () => {
    class Named extends DatabaseSync {
      override prepare(sql: string) {
        return Object.defineProperty(super.prepare(sql), "setReturnArrays", { value: undefined });
      }
    }
    const client = new Named(scratch.path);
    await using stores = createSqliteStores({ client, maxMessages: 2, ttlMs: 60_000 });
    const store = stores.open("a");
    await store.addMessages(users(3), { createdAt: 7 });
    await store.addMessages([user("more")], { createdAt: 8 });
    expect(await store.read()).toMatchObject({
      entries: [{ sequence: 3 }, { sequence: 4 }],
      createdAt: 7,
      updatedAt: 8,
      expiresAt: expect.any(Number),
    });
    client.close();
  });

  test("of better-sqlite3 must be open", () => {
    const client = new Database(":memory:");
    client.close();
    expect(() => createSqliteStores({ client })).toThrow(/must be an open DatabaseSync/);
  });
});
