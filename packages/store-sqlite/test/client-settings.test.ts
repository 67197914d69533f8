import { DatabaseSync, type DatabaseSyncOptions } from "node:sqlite";
import type { StoreFactory } from "@scrollback/store-core";
import Database from "better-sqlite3";
import { beforeAll, describe, expect, test } from "vitest";
import { createSqliteStores } from "../src/index.ts";
import { clients } from "./clients.ts";
import { user, users } from "./messages.ts";
import { failure, useScratch } from "./scratch.ts";

const scratch = useScratch();

const options: readonly (DatabaseSyncOptions & Record<string, unknown>)[] = [
  { readBigInts: true },
  { returnArrays: true },
  { readBigInts: true, returnArrays: true },
  { allowBareNamedParameters: false },
  { allowUnknownNamedParameters: true },
  { enableForeignKeyConstraints: false },
  { enableDoubleQuotedStringLiterals: true },
  { defensive: true },
  { timeout: 50 },
];

const pragmas: readonly string[] = [
  "full_column_names = ON",
  "short_column_names = OFF",
  "short_column_names = OFF; PRAGMA full_column_names = ON",
  "count_changes = ON",
  "empty_result_callbacks = ON",
  "reverse_unordered_selects = ON",
  "case_sensitive_like = ON",
  "recursive_triggers = ON",
  "defer_foreign_keys = ON",
  "ignore_check_constraints = ON",
  "automatic_index = OFF",
  "trusted_schema = OFF",
  "legacy_alter_table = ON",
  "locking_mode = EXCLUSIVE",
  "temp_store = MEMORY",
  "auto_vacuum = FULL",
];

/** Calls every verb, and returns what each has given. */
async function story(stores: StoreFactory) {
  await stores.setup();
  await stores.setup();
  const store = stores.open("ada:0");
  const operationId = "turn-1";
  const change = {
    append: [{ role: "system", content: "Be brief" } as const, ...users(6)],
    metadata: { n: 1 },
  };
  const first = await store.commit(change, { operationId });
  const repeated = await store.commit(change, { operationId });
  const trimmed = stores.open("ada:0", { maxMessages: 4 });
  await trimmed.addMessages([user("more"), user("\uFFFE\uFFFF\0")], { createdAt: 7 });
  const { entries, metadata, count, older = "" } = await trimmed.read({ limit: 2 });
  const before = await trimmed.read({ before: older, limit: 1 });
  for (let index = 1; index < 25; index++) await stores.open(`ada:${index}`).addMessages([user("x")]);
  for (const id of ["ada:\0", "eve"]) await stores.open(id, { ttlMs: 60_000 }).addMessages([user("x")]);
  const listed: unknown[] = [];
  for await (const thread of stores.iterateThreads({ prefix: "ada:", limit: 10 }))
    listed.push([thread.threadId, thread.count, thread.metadata, typeof thread.expiresAt]);
  const index = stores.index("jobs");
  const entry = { version: 1, order: 1.5, value: { a: 1 }, expiresAt: 9e12 };
  const place = { key: "job", id: "1" };
  const entriesOfIndex = [
    await index.insert(place, entry),
    await index.insert(place, entry),
    await index.insert({ key: "job\0", id: "2" }, { ...entry, order: -1 }),
    await index.update(place, { ...entry, version: 2 }),
    await index.entriesOf("job"),
    await index.list({ limit: 1 }),
    await index.list({ direction: "down" }),
    await stores.listIndexes(),
    await index.remove(place),
    await index.remove(place),
  ];
  await trimmed.popMessage();
  const popped = await trimmed.listMessages();
  await trimmed.clear();
  let erased = 0;
  for await (const { threadId } of stores.iterateThreads({ prefix: "ada:", limit: 10 })) {
    await stores.deleteThread(threadId);
    erased += 1;
  }
  const left = (await stores.listThreads()).threads.map(({ threadId }) => threadId);
  return {
    ...{ isRepeated: first === repeated, entries, metadata, count, before: before.entries, listed },
    ...{ entriesOfIndex, popped, erased, left },
  };
}

/** Times of the run are left out. */
const shown = (value: Awaited<ReturnType<typeof story>>) => ({
  ...value,
  before: value.before.map(({ createdAt, ...entry }) => entry),
});

describe("a client's settings do not change what is read and written", () => {
  let usual: ReturnType<typeof shown>;
  beforeAll(async () => {
    await using stores = createSqliteStores({ url: "sqlite::memory:" });
    usual = shown(await story(stores));
    expect(usual).toMatchObject({ isRepeated: true, count: 4, erased: 26, left: ["eve"] });
  });

  const settings: readonly (readonly [string, () => DatabaseSync | Database.Database])[] = [
    ...options.map((option) => [JSON.stringify(option), () => new DatabaseSync(":memory:", option)] as const),
    ["better-sqlite3", () => new Database(":memory:")],
    ["better-sqlite3: defaultSafeIntegers", () => new Database(":memory:").defaultSafeIntegers()],
    ["better-sqlite3: unsafeMode", () => new Database(":memory:").unsafeMode()],
    ...pragmas.flatMap((pragma) =>
      clients.map(({ kind, open }) => {
        const set = () => {
          const client = open(":memory:");
          client.exec(`PRAGMA ${pragma}`);
          return client;
        };
        return [`${kind}: PRAGMA ${pragma}`, set] as const;
      }),
    ),
  ];
  test.each(settings)("%s", async (_, open) => {
    const client = open();
    await using stores = createSqliteStores({ client });
    expect(shown(await story(stores))).toEqual(usual);
    // Another factory on the same client finds the tables.
    await using others = createSqliteStores({ client });
    expect(await others.open("eve").listMessages()).toEqual([user("x")]);
    client.close();
  });
});

test.each(["UTF-16", "UTF-16le", "UTF-16be"])(
  "a database in %s is refused by the first call",
  async (encoding) => {
    const client = new DatabaseSync(scratch.path);
    client.exec(`PRAGMA encoding = "${encoding}"; CREATE TABLE own (value TEXT)`);
    await using stores = createSqliteStores({ client });
    await using others = createSqliteStores({ url: scratch.url });
    const calls = [
      () => stores.open("a").addMessages([user("x")]),
      () => stores.setup(),
      () => others.listThreads(),
    ];
    for (const call of calls)
      expect(await failure(call())).toMatchObject({
        code: "UNSUPPORTED",
        message: expect.stringContaining("UTF-16"),
      });
    expect(scratch.query("SELECT name FROM sqlite_schema")).toEqual([{ name: "own" }]);
    client.close();
  },
);
