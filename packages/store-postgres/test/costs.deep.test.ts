import { startServer } from "@scrollback/conformance/servers";
import { createStores, RecordLogDriver, type StoreOptions } from "@scrollback/store-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { user } from "./messages.ts";
import { type SentQuery, takeVerbs, watchedLog } from "./queries.ts";
import { makeTable, type TestTable } from "./table.ts";

// These figures are also in docs/reference/store-postgres.md: a change of one is a change of both.

const server = startServer("postgres");
let table: TestTable;
const drivers: RecordLogDriver[] = [];

beforeAll(async () => {
  table = await makeTable((await server).url);
});
afterEach(async () => {
  for (const driver of drivers.splice(0)) await driver.close();
});
afterAll(async () => {
  await table[Symbol.asyncDispose]();
  await (await server).stop();
});

/** Stores of a process with empty caches, and a record of its queries. */
function coldStores(options?: StoreOptions) {
  const { log, sent } = watchedLog(table);
  const driver = new RecordLogDriver(log);
  drivers.push(driver);
  return { stores: createStores(driver, options), sent };
}

const hello = [user("Hello")];
const sizeOf = ({ values = [] }: SentQuery) =>
  values.reduce<number>((sum, value) => sum + String(value).length, 0);

describe("a commit", () => {
  test("is one insert, and after 20,000 messages the same one as after 10", async () => {
    const { stores, sent } = coldStores();
    const [short, long] = [stores.open(), stores.open()];
    for (let message = 0; message < 10; message++) await short.addMessages(hello);
    for (let batch = 0; batch < 20; batch++) await long.addMessages(Array(1_000).fill(user("Hello")));
    const sizes: number[] = [];
    for (const store of [short, long]) {
      sent.splice(0);
      await store.addMessages(hello);
      sizes.push(...sent.map(sizeOf));
      expect(takeVerbs(sent)).toEqual(["INSERT"]);
    }
    // The numbers in the long thread's row have more digits.
    expect(Math.abs((sizes[1] ?? 0) - (sizes[0] ?? 0))).toBeLessThan(60);
  });

  test("is one more select by a process that does not know the thread, and one more select and insert to a new thread", async () => {
    const { stores, sent } = coldStores();
    const store = stores.open();
    await store.addMessages(hello);
    expect(takeVerbs(sent)).toEqual(["SELECT", "INSERT", "INSERT"]);
    for (let message = 0; message < 100; message++) await store.addMessages(hello);
    const cold = coldStores();
    await cold.stores.open(store.threadId).addMessages(hello);
    expect(takeVerbs(cold.sent)).toEqual(["SELECT", "INSERT"]);
  });

  test("that lost to another writer is one more select and one more insert", async () => {
    const [one, other] = [coldStores(), coldStores()];
    const store = one.stores.open();
    await store.addMessages(hello);
    await other.stores.open(store.threadId).addMessages(hello);
    takeVerbs(one.sent);
    await store.addMessages(hello);
    expect(takeVerbs(one.sent)).toEqual(["INSERT", "SELECT", "INSERT"]);
  });

  test("of a trimmed thread is one more update at every 32nd commit", async () => {
    const { stores, sent } = coldStores({ maxMessages: 20 });
    const store = stores.open();
    for (let message = 0; message < 64; message++) await store.addMessages(hello);
    takeVerbs(sent);
    for (let message = 0; message < 64; message++) await store.addMessages(hello);
    const verbs = takeVerbs(sent);
    expect(verbs.filter((verb) => verb === "INSERT")).toHaveLength(64);
    expect(verbs.filter((verb) => verb === "UPDATE")).toHaveLength(2);
    expect(verbs).toHaveLength(66);
  });

  test("larger than one row is one insert for each fragment, and one more", async () => {
    const { stores, sent } = coldStores();
    const store = stores.open();
    await store.addMessages(hello);
    takeVerbs(sent);
    await store.addMessages(Array.from({ length: 5 }, () => user("x".repeat(3 * 1024 ** 2))));
    expect(takeVerbs(sent)).toEqual(Array(3 + 1).fill("INSERT"));
    expect(await store.listMessages()).toHaveLength(6);
  });
});

test.each([
  ["", {}, 330],
  [" with trimming and expiry", { maxMessages: 20, ttlMs: 1e8 }, 430],
])("a commit sends its texts and a bounded number of bytes more%s", async (_, options, bytes) => {
  const { stores, sent } = coldStores(options);
  const store = stores.open();
  for (let message = 0; message < 100; message++) await store.addMessages(hello);
  sent.splice(0);
  await store.addMessages(hello);
  const content = String(sent[0]?.values?.[3] ?? "");
  expect(content).toContain("Hello");
  // The thread's id has 36 bytes.
  const rest = sizeOf(sent[0] as SentQuery) - content.length;
  expect(rest).toBeLessThanOrEqual(bytes);
  expect(rest).toBeGreaterThan(bytes - 60);
});

describe("a read", () => {
  test("of the newest messages is one SELECT, independent of the thread's length", async () => {
    const { stores, sent } = coldStores({ maxMessages: 400 });
    const store = stores.open();
    for (let message = 0; message < 300; message++) await store.addMessages(hello);
    for (const limit of [1, 20, 250]) {
      takeVerbs(sent);
      expect(await store.listMessages({ limit })).toHaveLength(limit);
      expect(takeVerbs(sent)).toEqual(["SELECT"]);
    }
    const cold = coldStores();
    expect(await cold.stores.open(store.threadId).listMessages({ limit: 20 })).toHaveLength(20);
    expect(takeVerbs(cold.sent)).toEqual(["SELECT"]);
  });

  test("of a whole thread is one select of 256 commits, and then one for each 4 MiB", async () => {
    const { stores, sent } = coldStores();
    const store = stores.open();
    for (let message = 0; message < 600; message++) await store.addMessages(hello);
    takeVerbs(sent);
    expect(await store.listMessages()).toHaveLength(600);
    expect(takeVerbs(sent)).toEqual(["SELECT", "SELECT"]);
  });
});

test("a clear is one insert and one update", async () => {
  const { stores, sent } = coldStores();
  const store = stores.open();
  for (let message = 0; message < 40; message++) await store.addMessages(hello);
  takeVerbs(sent);
  await store.clear();
  expect(takeVerbs(sent)).toEqual(["INSERT", "UPDATE"]);
});

test("a page of a listing is one select, and one more for each thread on it", async () => {
  const { stores } = coldStores();
  const prefix = `${crypto.randomUUID()}/`;
  for (let thread = 0; thread < 25; thread++) await stores.open(`${prefix}${thread}`).addMessages(hello);
  const cold = coldStores();
  const page = await cold.stores.listThreads({ prefix, limit: 10 });
  expect(page.threads).toHaveLength(10);
  const verbs = takeVerbs(cold.sent);
  expect(verbs[0]).toBe("WITH");
  expect(verbs.slice(1)).toEqual(Array(10).fill("SELECT"));
});

test("a deletion is two selects, one insert and two updates", async () => {
  const { stores, sent } = coldStores({ maxMessages: 20 });
  const store = stores.open();
  for (let message = 0; message < 70; message++) await store.addMessages(hello);
  takeVerbs(sent);
  await stores.deleteThread(store.threadId);
  expect(takeVerbs(sent)).toEqual(["SELECT", "SELECT", "INSERT", "UPDATE", "UPDATE"]);
});
