import type { ChatMessage, MessageStore, StoreOptions } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { describe, expect, test } from "vitest";
import { DynamoDriver } from "../src/dynamo-driver.ts";
import { watchedTable } from "./capacity.ts";
import { user } from "./messages.ts";
import { itemsOf } from "./table.ts";

// These figures are also in docs/reference/store-dynamo.md: a change of one is a change of both.

const { sent, table } = watchedTable();

const DAY = 24 * 60 * 60 * 1_000;
/** The driver's time. It passes with each look, so that operations are as old as those of a usual thread. */
let wall = Date.now();
const clock = { wall: () => (wall += 1_000) };

/** Stores of a process that knows no thread. */
function coldStores(options?: StoreOptions) {
  return createStores(
    new DynamoDriver({ client: table().raw, tableName: table().tableName, owned: false }, clock),
    options,
  );
}

/** The requests of an operation and their units: `TransactWriteItems 4`. */
async function costOf(operation: () => Promise<unknown>): Promise<string[]> {
  sent.length = 0;
  await operation();
  return sent.map(({ action, units }) => `${action} ${units}`);
}

async function fill(store: MessageStore, count: number, message = user("Hello")): Promise<void> {
  for (let commit = 0; commit < count; commit++) await store.addMessages([message]);
}

const text = (length: number): ChatMessage => user("x".repeat(length));

describe("a commit", () => {
  test("of a message of 300 bytes takes 4 write units in one request, with 64 operations remembered", async () => {
    for (const [options, units] of [
      [{}, 4],
      [{ ttlMs: 7 * DAY }, 4],
      [{ maxMessages: 100 }, 4],
      // The message that is trimmed takes the other 2.
      [{ maxMessages: 20, ttlMs: 7 * DAY }, 6],
    ] as const) {
      const store = coldStores(options).open();
      await fill(store, 80, text(300));
      for (let round = 0; round < 3; round++)
        expect(await costOf(() => store.addMessages([text(300)]))).toEqual([`TransactWriteItems ${units}`]);
    }
  });

  test("of a message of 10 KB takes 2 units for each KB of it, and 2 for the head", async () => {
    const store = coldStores().open();
    await fill(store, 70);
    expect(await costOf(() => store.addMessages([text(10_000)]))).toEqual(["TransactWriteItems 22"]);
  });

  test("takes as much at 10 messages and at 10,000, and one read more where the thread is not known", async () => {
    const store = coldStores().open();
    expect(await costOf(() => store.addMessages([user("Hello")]))).toEqual([
      "GetItem 1",
      "Query 0",
      "TransactWriteItems 4",
    ]);
    await fill(store, 10);
    expect(await costOf(() => store.addMessages([user("Hello")]))).toEqual(["TransactWriteItems 4"]);
    const many = Array.from({ length: 1_000 }, (_, index) => user(String(index)));
    for (let commit = 0; commit < 10; commit++) await store.addMessages(many);
    expect(await costOf(() => store.addMessages([user("Hello")]))).toEqual(["TransactWriteItems 4"]);
    const cold = coldStores().open(store.threadId);
    expect(await costOf(() => cold.addMessages([user("Hello")]))).toEqual([
      "GetItem 1",
      "TransactWriteItems 4",
    ]);
  });

  test("of 20 messages is one request; of more than 92, all but the last 32 are written before, 25 with one request", async () => {
    const store = coldStores().open();
    await fill(store, 2);
    const batch = (count: number) => Array.from({ length: count }, () => text(475));
    expect(await costOf(() => store.addMessages(batch(20)))).toEqual(["TransactWriteItems 42"]);
    const requests = await costOf(() => store.addMessages(batch(100)));
    // The last 32 are in the transaction, so that they are read with the head.
    expect(requests.sort()).toEqual([
      ...["BatchWriteItem 18", "BatchWriteItem 25", "BatchWriteItem 25"],
      "TransactWriteItems 68",
    ]);
    expect(await costOf(() => store.listMessages({ limit: 30 }))).toHaveLength(1);
    expect(await costOf(() => store.listMessages({ limit: 40 }))).toHaveLength(2);
  });

  test("of a pop removes the row in the transaction", async () => {
    const store = coldStores().open();
    await fill(store, 3);
    expect(await costOf(() => store.popMessage())).toEqual(["Query 1", "TransactWriteItems 4"]);
  });
});

describe("commits of one process", () => {
  test("that wait for each other share a transaction, and each has its revision", async () => {
    const store = coldStores().open();
    await fill(store, 1);
    sent.length = 0;
    const revisions = await Promise.all(
      Array.from({ length: 40 }, (_, index) => store.addMessages([user(`${index}`)])),
    );
    expect(sent.map(({ action }) => action)).toEqual(["TransactWriteItems", "TransactWriteItems"]);
    expect(new Set(revisions).size).toBe(40);
    expect((await store.listMessages()).slice(1)).toEqual(
      Array.from({ length: 40 }, (_, index) => user(`${index}`)),
    );
  });
});

describe("a read", () => {
  test("of the newest messages is one request, and takes a read unit for each 4 KB of them and the head", async () => {
    const store = coldStores().open();
    await fill(store, 70, text(640));
    for (const [limit, units] of [
      [20, 5],
      [1, 1],
      [50, 10],
    ] as const) {
      const [request] = await costOf(() => store.listMessages({ limit }));
      expect(request).toBe(`Query ${units}`);
    }
    const { older = "" } = await store.read({ limit: 20 });
    expect(
      (await costOf(() => store.read({ before: older, limit: 20 }))).map((one) => one.split(" ")[0]),
    ).toEqual(["GetItem", "Query"]);
  });
});

describe("trimming, clearing and deletion", () => {
  test("a process reads the kinds of 64 messages at once when trimming has used them up", async () => {
    const store = coldStores({ maxMessages: 300 }).open();
    await store.addMessages(Array.from({ length: 90 }, () => user("Hello")));
    await fill(store, 230);
    sent.length = 0;
    await fill(store, 128);
    expect(sent.filter(({ action }) => action === "Query").length).toBeLessThanOrEqual(3);
    expect(sent.filter(({ action }) => action === "TransactWriteItems")).toHaveLength(128);
  });

  test("a clear removes up to 92 messages in its transaction, and more after it, 25 with one request", async () => {
    const store = coldStores().open();
    await fill(store, 40);
    expect(await costOf(() => store.clear())).toEqual(["TransactWriteItems 82"]);
    await fill(store, 100);
    expect((await costOf(() => store.clear())).map((one) => one.split(" ")[0])).toEqual([
      "TransactWriteItems",
      "Query",
      ...Array(4).fill("BatchWriteItem"),
    ]);
    expect(await itemsOf(table(), store.threadId)).toHaveLength(1);
  });

  test("a deletion looks at the thread, replaces its head, removes the rows, and looks again", async () => {
    const stores = coldStores();
    const store = stores.open();
    await fill(store, 30);
    expect((await costOf(() => stores.deleteThread(store.threadId))).map((one) => one.split(" ")[0])).toEqual(
      [...["GetItem", "Query", "TransactWriteItems"], ...["BatchWriteItem", "BatchWriteItem", "Query"]],
    );
  });
});

describe("a listing", () => {
  test("is a query for each finished shard, and a request for 100 heads, and for 100 times metadata", async () => {
    const prefix = `${crypto.randomUUID()}/`;
    const stores = coldStores();
    for (let thread = 0; thread < 30; thread++)
      await stores.open(`${prefix}${thread}`).commit({ append: [user("Hello")], metadata: "title" });
    const requests = await costOf(() => coldStores().listThreads({ prefix }));
    expect(requests.map((one) => one.split(" ")[0])).toEqual([
      ...Array(8).fill("Query"),
      "BatchGetItem",
      "BatchGetItem",
    ]);
  });
});

describe("expiry", () => {
  test("the rows of an expiring thread are raised once in its ttl, for 2 units each", async () => {
    const store = coldStores({ ttlMs: 10 * DAY }).open();
    await fill(store, 60);
    sent.length = 0;
    // A commit every 6 hours for 30 days.
    for (let commit = 0; commit < 120; commit++) {
      wall += DAY / 4;
      await store.addMessages([user("Hello")]);
    }
    const listings = sent.filter(({ action }) => action === "Query");
    expect(listings.length).toBeGreaterThanOrEqual(2);
    expect(listings.length).toBeLessThanOrEqual(3);
    const items = await itemsOf(table(), store.threadId);
    const least = Math.min(...items.map(({ x }) => Number(x?.N)));
    expect(least * 1_000).toBeGreaterThan(wall + 10 * DAY);
  });
});
