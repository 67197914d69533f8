import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { StoreError } from "@scrollback/store-core";
import { describe, expect, test, vi } from "vitest";
import { connectionOf } from "../src/clients/index.ts";
import { createSqliteStores, type SqliteOptions } from "../src/index.ts";
import { SqliteDriver } from "../src/sqlite-driver.ts";
import { user } from "./messages.ts";
import { useScratch } from "./scratch.ts";

const scratch = useScratch();

describe("options", () => {
  const invalid: [string, unknown, RegExp][] = [
    ["nothing", undefined, /give url or client/],
    ["neither url nor client", {}, /give url or client/],
    ["both", { url: "sqlite::memory:", client: new DatabaseSync(":memory:") }, /not both/],
    ["an unknown key", { url: "sqlite::memory:", path: "x" }, /unknown option "path"/],
    ["another scheme", { url: "redis://localhost" }, /url must be like "sqlite:chats\.db"/],
    ["a URL without a path", { url: "sqlite:" }, /url must be like/],
    ["a URL with a host", { url: "sqlite://chats.db" }, /not a host/],
    ["a URL with parameters", { url: "sqlite:chats.db?mode=ro" }, /takes no parameters/],
    [
      "a URL with an option",
      { url: "sqlite:chats.db?tablePrefix=chat_" },
      /must not contain the option tablePrefix; pass tablePrefix to createSqliteStores beside url/,
    ],
    ["a value that is not a URL", { url: 7 }, /url must be like/],
    [
      "a value that is not a client",
      { client: { prepare() {}, exec() {} } },
      /client must be an open DatabaseSync/,
    ],
    [
      "a closed client",
      { client: new DatabaseSync(":memory:", { open: false }) },
      /must be an open DatabaseSync/,
    ],
    ["an empty prefix", { url: "sqlite::memory:", tablePrefix: "" }, /tablePrefix must be/],
    ["a prefix in upper case", { url: "sqlite::memory:", tablePrefix: "Chat_" }, /tablePrefix must be/],
    ["a prefix with a quote", { url: "sqlite::memory:", tablePrefix: 'a"; DROP' }, /tablePrefix must be/],
    ["SQLite's own prefix", { url: "sqlite::memory:", tablePrefix: "sqlite_" }, /tablePrefix must be/],
    [
      "another synchronous",
      { url: "sqlite::memory:", synchronous: "off" },
      /synchronous must be "full" or "normal"/,
    ],
    [
      "synchronous with a client",
      { client: new DatabaseSync(":memory:"), synchronous: "full" },
      /with url only/,
    ],
    ["an invalid common option", { url: "sqlite::memory:", maxMessages: 0 }, /maxMessages must be/],
  ];
  test.each(invalid)("%s is refused", (_, options, message) => {
    let error: unknown;
    try {
      createSqliteStores(options as SqliteOptions);
    } catch (thrown) {
      error = thrown;
    }
    expect(StoreError.is(error, "INVALID_ARGUMENT") && error.message).toMatch(message);
  });

  test("no file is opened before the first call", async () => {
    const stores = createSqliteStores({ url: scratch.url });
    const store = stores.open("a");
    stores.restore(await store.serialize());
    expect(existsSync(scratch.path)).toBe(false);
    expect(await store.listMessages()).toEqual([]);
    expect(existsSync(scratch.path)).toBe(true);
    await stores.close();
  });

  test("a relative path is relative to the working directory at creation", async () => {
    const before = process.cwd();
    try {
      process.chdir(scratch.directory);
      const stores = createSqliteStores({ url: "sqlite:./chats.db" });
      process.chdir(before);
      await stores.open("a").addMessages([user("here")]);
      await stores.close();
    } finally {
      process.chdir(before);
    }
    expect(existsSync(scratch.path)).toBe(true);
  });

  test("two prefixes in one file are separate", async () => {
    await using one = createSqliteStores({ url: scratch.url, tablePrefix: "one_" });
    await using two = createSqliteStores({ url: scratch.url, tablePrefix: "two_" });
    await one.open("a").addMessages([user("of one")]);
    await two.open("a").addMessages([user("of two")]);
    expect(await one.open("a").listMessages()).toEqual([user("of one")]);
    expect(await two.open("a").listMessages()).toEqual([user("of two")]);
  });

  test.each([
    ["full", 2],
    ["normal", 1],
  ] as const)("synchronous %s reaches SQLite", async (synchronous, pragma) => {
    const exec = vi.spyOn(DatabaseSync.prototype, "exec");
    try {
      await using stores = createSqliteStores({ url: scratch.url, synchronous });
      await stores.setup();
      const database = exec.mock.contexts[0] as DatabaseSync;
      expect(database.prepare("PRAGMA synchronous").get()).toEqual({ synchronous: pragma });
      expect(database.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
      expect(database.prepare("PRAGMA secure_delete").get()).toEqual({ secure_delete: 1 });
      expect(database.prepare("PRAGMA busy_timeout").get()).toEqual({ timeout: 0 });
    } finally {
      exec.mockRestore();
    }
  });
});

describe(":memory:", () => {
  test("ends with its factory and is not shared", async () => {
    const one = createSqliteStores({ url: "sqlite::memory:" });
    await using two = createSqliteStores({ url: "sqlite::memory:" });
    await one.open("a").addMessages([user("hello")]);
    expect(await one.open("a").listMessages()).toEqual([user("hello")]);
    expect(await two.open("a").listMessages()).toEqual([]);
    await one.open("a").clear();
    expect(await one.open("a").listMessages()).toEqual([]);
    await one.close();
    expect(existsSync(":memory:")).toBe(false);
  });

  test('has sharing "driver" in its driver\'s capabilities', () => {
    const sharing = (source: ConstructorParameters<typeof SqliteDriver>[0]) =>
      new SqliteDriver(source, "scrollback_").capabilities.sharing;
    expect(sharing({ path: ":memory:", synchronous: "full" })).toBe("driver");
    expect(sharing({ connection: connectionOf(new DatabaseSync(":memory:")) })).toBe("driver");
    expect(sharing({ connection: connectionOf(new DatabaseSync(scratch.path)) })).toBe("machine");
    expect(sharing({ path: scratch.path, synchronous: "full" })).toBe("machine");
  });
});

test("a driver's target has the table, and not the file's path", () => {
  const driver = new SqliteDriver({ path: scratch.path, synchronous: "full" }, "chat_");
  expect(driver.target).toEqual({ collection: "chat_messages" });
});
