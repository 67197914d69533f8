import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { createSqliteStores } from "../src/index.ts";
import { user, users } from "./messages.ts";
import { failure, useScratch } from "./scratch.ts";

const scratch = useScratch();

describe("the file", () => {
  test("is created with mode 0600, and so are its WAL files", async () => {
    await using stores = createSqliteStores({ url: scratch.url });
    await stores.open("a").addMessages([user("private")]);
    const modes = readdirSync(scratch.directory).map((name) => [
      name,
      (statSync(join(scratch.directory, name)).mode & 0o777).toString(8),
    ]);
    expect(Object.fromEntries(modes)).toEqual({
      "chats.db": "600",
      "chats.db-wal": "600",
      "chats.db-shm": "600",
    });
  });

  test("keeps the mode that its owner gave it", async () => {
    writeFileSync(scratch.path, "");
    chmodSync(scratch.path, 0o660);
    await using stores = createSqliteStores({ url: scratch.url });
    await stores.open("a").addMessages([user("shared")]);
    expect(statSync(scratch.path).mode & 0o777).toBe(0o660);
    expect(statSync(`${scratch.path}-wal`).mode & 0o777).toBe(0o660);
  });

  test("in a missing directory is a clear error, and works once the directory exists", async () => {
    const deep = join(scratch.directory, "deep");
    await using stores = createSqliteStores({ url: `sqlite:${deep}/chats.db` });
    const store = stores.open("a");
    const { code, retryable, message } = await failure(store.listMessages());
    expect({ code, retryable }).toEqual({ code: "UNAVAILABLE", retryable: false });
    expect(message).toMatch(/^url: the directory of ".*deep\/chats\.db" does not exist; create it first$/);
    mkdirSync(deep);
    await store.addMessages([user("now")]);
    expect(await store.listMessages()).toEqual([user("now")]);
  });

  test("that is a directory is a clear error", async () => {
    mkdirSync(scratch.path);
    await using stores = createSqliteStores({ url: scratch.url });
    expect(await failure(stores.open("a").listMessages())).toMatchObject({
      code: "UNAVAILABLE",
      retryable: false,
      message: expect.stringContaining("it must be a file"),
    });
  });

  test("without the rights to it is a clear error", async () => {
    await using refused = createSqliteStores({ url: scratch.url });
    const writing = () => asOrdinaryUser(() => failure(refused.open("a").addMessages([user("x")])));
    const unavailable = (text: string) => ({
      code: "UNAVAILABLE",
      retryable: false,
      message: expect.stringContaining(text),
    });
    chmodSync(scratch.directory, 0o555);
    expect(await writing()).toMatchObject(unavailable("cannot be created"));
    expect(readdirSync(scratch.directory)).toEqual([]);

    chmodSync(scratch.directory, 0o755);
    const stores = createSqliteStores({ url: scratch.url });
    await stores.open("a").addMessages([user("kept")]);
    await stores.close();
    chmodSync(scratch.path, 0);
    expect(await writing()).toMatchObject(unavailable("cannot be opened"));
    chmodSync(scratch.path, 0o444);
    expect(await writing()).toMatchObject(unavailable("read-only"));
    chmodSync(scratch.path, 0o600);
    expect(await refused.open("a").listMessages()).toEqual([user("kept")]);
  });

  test("that is not a database is a clear error and stays unchanged", async () => {
    const text = "Dear diary, this is no database. ".repeat(200);
    writeFileSync(scratch.path, text);
    await using stores = createSqliteStores({ url: scratch.url });
    const store = stores.open("a");
    const expected = { code: "CORRUPT", message: expect.stringContaining("not a SQLite database") };
    expect(await failure(store.addMessages([user("x")]))).toMatchObject(expected);
    expect(await failure(store.listMessages())).toMatchObject(expected);
    expect(readFileSync(scratch.path, "utf8")).toBe(text);
  });

  test("with a damaged page is CORRUPT, never an empty history", async () => {
    const stores = createSqliteStores({ url: scratch.url });
    await stores.open("a").addMessages(users(200));
    await stores.close();
    const [{ rootpage } = {}] = scratch.query(
      "SELECT rootpage FROM sqlite_schema WHERE name = 'scrollback_messages'",
    );
    const bytes = readFileSync(scratch.path);
    bytes.fill(0xa5, (Number(rootpage) - 1) * 8_192, Number(rootpage) * 8_192);
    writeFileSync(scratch.path, bytes);
    await using damaged = createSqliteStores({ url: scratch.url });
    expect(await failure(damaged.open("a").listMessages())).toMatchObject({
      code: "CORRUPT",
      retryable: false,
    });
    expect(await failure(damaged.open("a").addMessages([user("x")]))).toMatchObject({ code: "CORRUPT" });
  });

  test("cut short is an error, never an empty history", async () => {
    const stores = createSqliteStores({ url: scratch.url });
    await stores.open("a").addMessages(users(2_000));
    await stores.close();
    truncateSync(scratch.path, 3 * 8_192);
    await using damaged = createSqliteStores({ url: scratch.url });
    expect(await failure(damaged.open("a").listMessages())).toMatchObject({ code: "CORRUPT" });
  });

  test("that lost the row of a message reports the message's number", async () => {
    await using stores = createSqliteStores({ url: scratch.url });
    await stores.open("a").addMessages(users(3));
    scratch.query("DELETE FROM scrollback_messages WHERE sequence = 2 RETURNING 1");
    await expect(stores.open("a").listMessages()).rejects.toMatchObject({ code: "CORRUPT", sequence: 2 });
    const reported: (number | undefined)[] = [];
    await using lenient = createSqliteStores({
      url: scratch.url,
      onCorruptRecord: (error) => reported.push(error.sequence),
    });
    expect(await lenient.open("a").listMessages()).toEqual([user("hello 1"), user("hello 3")]);
    expect(reported).toEqual([2]);
  });
});

describe("a full disk", () => {
  test("is a clear error that does not change the thread, and writes succeed once there is space", async () => {
    const client = new DatabaseSync(scratch.path);
    client.exec("PRAGMA journal_mode = WAL");
    await using stores = createSqliteStores({ client });
    const store = stores.open("a");
    const revision = await store.addMessages(users(3));
    const { page_count: pages } = client.prepare("PRAGMA page_count").get() as { page_count: number };
    client.exec(`PRAGMA max_page_count = ${pages + 4}`);
    const large = user("x".repeat(100_000));
    const expected = {
      code: "UNAVAILABLE",
      retryable: false,
      message: expect.stringContaining("disk is full"),
    };
    expect(await failure(store.addMessages([user("small"), large]))).toMatchObject(expected);
    expect(await failure(store.replaceMessages([large]))).toMatchObject(expected);
    expect(await store.read()).toMatchObject({ revision, entries: { length: 3 } });
    client.exec("PRAGMA max_page_count = 1000000");
    await store.addMessages([large]);
    expect(await store.listMessages()).toEqual([...users(3), large]);
    client.close();
  });
});

/** Runs a step as a user with restricted file access, because root ignores file modes. */
async function asOrdinaryUser<T>(step: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return await step();
  process.seteuid?.("nobody");
  try {
    return await step();
  } finally {
    process.seteuid?.(0);
  }
}

describe("the option setup", () => {
  test("false: calls make neither a file nor tables, and setup() does", async () => {
    await using stores = createSqliteStores({ url: scratch.url, setup: false });
    const store = stores.open("a");
    const missing = {
      code: "UNAVAILABLE",
      retryable: false,
      message: expect.stringContaining("run setup()"),
    };
    expect(await failure(store.addMessages([user("a")]))).toMatchObject(missing);
    expect(readdirSync(scratch.directory)).toEqual([]);
    // Another program's database.
    const other = new DatabaseSync(scratch.path);
    other.exec("CREATE TABLE notes (text TEXT)");
    const before = readFileSync(scratch.path);
    expect(await failure(store.listMessages())).toMatchObject(missing);
    expect(readFileSync(scratch.path)).toEqual(before);
    other.close();
    const [failed] = await Promise.all([failure(store.listMessages()), stores.setup()]);
    expect(failed).toMatchObject(missing);
    await store.addMessages(users(2));
    await using readers = createSqliteStores({ url: scratch.url, setup: false });
    expect(await readers.open("a").listMessages()).toEqual(users(2));
  });

  test("false: a database in memory, which is always new, gets its tables", async () => {
    await using stores = createSqliteStores({ url: "sqlite::memory:", setup: false });
    await stores.open("a").addMessages(users(2));
    expect(await stores.open("a").listMessages()).toEqual(users(2));
  });
});
