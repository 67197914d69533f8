import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { createSqliteStores } from "../src/index.ts";
import { user, users } from "./messages.ts";
import { failure, useScratch } from "./scratch.ts";

const scratch = useScratch();

describe("a caller's client", () => {
  test("is never closed and keeps its pragmas", async () => {
    const client = new DatabaseSync(scratch.path);
    client.exec("PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 7");
    const stores = createSqliteStores({ client });
    await stores.open("a").addMessages([user("mine")]);
    await stores.close();
    await stores.close();
    expect(client.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "delete" });
    expect(client.prepare("PRAGMA synchronous").get()).toEqual({ synchronous: 1 });
    expect(client.prepare("PRAGMA busy_timeout").get()).toEqual({ timeout: 7 });
    expect(client.prepare("PRAGMA secure_delete").get()).toEqual({ secure_delete: 0 });
    await using again = createSqliteStores({ client });
    expect(await again.open("a").listMessages()).toEqual([user("mine")]);
    client.close();
  });

  test("can have any row format as its default", async () => {
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

  test("that is read-only serves reads and rejects writes with a clear error", async () => {
    await using stores = createSqliteStores({ url: scratch.url });
    await stores.open("a").addMessages([user("kept")]);
    const client = new DatabaseSync(scratch.path, { readOnly: true });
    await using readers = createSqliteStores({ client });
    expect(await readers.open("a").listMessages()).toEqual([user("kept")]);
    expect(await failure(readers.open("a").addMessages([user("x")]))).toMatchObject({
      code: "UNAVAILABLE",
      retryable: false,
      message: expect.stringContaining("read-only"),
    });
    expect(await failure(readers.setup())).toMatchObject({ message: expect.stringContaining("read-only") });
    client.close();
  });

  test("that was closed since fails with UNAVAILABLE", async () => {
    const client = new DatabaseSync(scratch.path);
    await using stores = createSqliteStores({ client });
    await stores.open("a").addMessages([user("x")]);
    client.close();
    expect(await failure(stores.open("a").listMessages())).toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("closed"),
    });
  });

  test("in a transaction of its owner waits for the end of the transaction, which stays the owner's", async () => {
    const client = new DatabaseSync(scratch.path);
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

  test("receives no commit that was waiting when the factory was closed", async () => {
    const client = new DatabaseSync(scratch.path);
    const stores = createSqliteStores({ client });
    await stores.setup();
    client.exec("BEGIN");
    const added = failure(stores.open("a").addMessages([user("never")]));
    await stores.close();
    client.exec("ROLLBACK");
    expect(await added).toMatchObject({ code: "CLOSED" });
    expect(scratch.query("SELECT * FROM scrollback_threads")).toEqual([]);
    client.close();
  });

  test("can have tables of other programs, which are not used", async () => {
    const client = new DatabaseSync(scratch.path);
    client.exec("CREATE TABLE scrollback_threads (title TEXT)");
    await using stores = createSqliteStores({ client });
    expect(await failure(stores.open("a").listMessages())).toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("tablePrefix"),
    });
    expect(client.prepare("SELECT name FROM sqlite_schema").all()).toEqual([{ name: "scrollback_threads" }]);
    client.close();
  });
});
