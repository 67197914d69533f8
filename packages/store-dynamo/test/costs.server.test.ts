import { startServer } from "@scrollback/conformance/servers";
import { createStores, type MessageStore, RecordLogDriver, type StoreOptions } from "@scrollback/store-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { DynamoRecordLog } from "../src/dynamo-log.ts";
import { user } from "./messages.ts";
import { makeTable, type TestTable } from "./table.ts";

// The figures here are those of docs/store-dynamo.md: a change of one is a change of both.

const server = startServer("dynamodb");
let table: TestTable;
/** What each request took in capacity units. */
let consumed: { action: string; units: number }[] = [];
/** How often each row was updated, by its number. */
const updatesOfRow = new Map<string, number>();

beforeAll(async () => {
  table = await makeTable((await server).url);
  table.raw.middlewareStack.add(
    (next, context) => async (args) => {
      const result = await next({ ...args, input: { ...args.input, ReturnConsumedCapacity: "TOTAL" } });
      const { Key } = args.input as { Key?: { n?: { N?: string } } };
      const row = Key?.n?.N;
      if (row !== undefined) updatesOfRow.set(row, (updatesOfRow.get(row) ?? 0) + 1);
      const { ConsumedCapacity } = result.output as { ConsumedCapacity?: { CapacityUnits?: number } };
      const action = String(context.commandName).replace(/Command$/, "");
      consumed.push({ action, units: ConsumedCapacity?.CapacityUnits ?? 0 });
      return result;
    },
    { step: "initialize" },
  );
});
beforeEach(() => {
  consumed = [];
});
afterAll(async () => {
  await table[Symbol.asyncDispose]();
  await (await server).stop();
});

const DAY = 24 * 60 * 60 * 1_000;
/** For what the driver takes as the time. */
let wall: number | undefined;
const clock = { wall: () => wall ?? Date.now(), monotonic: () => wall ?? performance.now() };

/** Stores of a process that knows of nothing yet. */
function coldStores(options?: StoreOptions) {
  const { raw: client, tableName } = table;
  return createStores(
    new RecordLogDriver(new DynamoRecordLog({ client, tableName, owned: false }), clock),
    options,
  );
}

/** What an operation costs: the sum of units by action. */
async function unitsOf(operation: () => Promise<unknown>): Promise<Record<string, number>> {
  consumed = [];
  await operation();
  const sums: Record<string, number> = {};
  for (const { action, units } of consumed) sums[action] = (sums[action] ?? 0) + units;
  return sums;
}

async function fill(store: MessageStore, count: number, text: string): Promise<void> {
  for (let commit = 0; commit < count; commit++) await store.addMessages([user(text)]);
}

describe("an append", () => {
  test.each([
    ["", {}, 760],
    [" with maxMessages", { maxMessages: 50 }, 700],
    [" with maxMessages and ttlMs", { maxMessages: 50, ttlMs: 7 * DAY }, 650],
  ])("of text%s costs 1 write unit up to its stated length, and then 2", async (_, options, length) => {
    const store = coldStores(options).open();
    await fill(store, 100, "Hello");
    for (let round = 0; round < 8; round++) {
      expect((await unitsOf(() => store.addMessages([user("x".repeat(length))]))).PutItem).toBe(1);
    }
    expect((await unitsOf(() => store.addMessages([user("x".repeat(length + 90))]))).PutItem).toBe(2);
  });

  test("costs 1 write unit and nothing else, at 100,000 messages as at 10", async () => {
    const store = coldStores().open();
    await fill(store, 10, "Hello");
    expect(await unitsOf(() => store.addMessages([user("Hello")]))).toEqual({ PutItem: 1 });
    const thousand = Array.from({ length: 1_000 }, (_, index) => user(String(index)));
    for (let commit = 0; commit < 100; commit++) await store.addMessages(thousand);
    expect(await unitsOf(() => store.addMessages([user("Hello")]))).toEqual({ PutItem: 1 });
    consumed = [];
    await store.addMessages([user("Hello")]);
    expect(consumed).toEqual([{ action: "PutItem", units: 1 }]);
  });

  test("of twenty messages costs a write unit for each KB of all of them", async () => {
    const store = coldStores().open();
    await fill(store, 2, "Hello");
    const twenty = Array.from({ length: 20 }, () => user("x".repeat(475)));
    expect(await unitsOf(() => store.addMessages(twenty))).toEqual({ PutItem: 11 });
  });

  test("by a process that does not know the thread costs the reading of its newest 65 commits more", async () => {
    const store = coldStores().open();
    await fill(store, 100, "x".repeat(740));
    const cold = coldStores().open(store.threadId);
    consumed = [];
    await cold.addMessages([user("Hello")]);
    expect(consumed).toEqual([
      { action: "Query", units: 16 },
      { action: "PutItem", units: 1 },
    ]);
  });
});

describe("a read", () => {
  test("costs a read unit for each 4 KB that it reads, in one request under 1 MB", async () => {
    const store = coldStores().open();
    await fill(store, 60, "x".repeat(740));
    for (const [limit, units] of [
      [20, 6],
      [1, 1],
      [50, 13],
    ] as const) {
      consumed = [];
      expect(await store.listMessages({ limit })).toHaveLength(limit);
      expect(consumed).toEqual([{ action: "Query", units }]);
    }
  });

  test("goes no further back than its messages, past 1 MB", async () => {
    const store = coldStores().open();
    await fill(store, 12, "x".repeat(250_000));
    consumed = [];
    expect(await store.listMessages({ limit: 6 })).toHaveLength(6);
    expect(consumed.map(({ action }) => action)).toEqual(["Query", "Query"]);
    expect(await unitsOf(() => store.listMessages({ limit: 2 }))).toEqual({ Query: 184 });
  });
});

describe("what makes room", () => {
  test("trimming costs less than two write units a commit more", async () => {
    const store = coldStores({ maxMessages: 50 }).open();
    await fill(store, 200, "Hello");
    const { PutItem, UpdateItem = 0 } = await unitsOf(() => fill(store, 320, "Hello"));
    expect(PutItem).toBe(320);
    expect(UpdateItem).toBeGreaterThan(320);
    expect(UpdateItem).toBeLessThan(1.5 * 320);
  });

  test("a clear costs a write unit for each KB that it removes", async () => {
    const store = coldStores().open();
    await fill(store, 50, "x".repeat(740));
    expect(await unitsOf(() => store.clear())).toEqual({ PutItem: 1, UpdateItem: 50 });
    await store.addMessages([user("x".repeat(99_000))]);
    expect(await unitsOf(() => store.clear())).toEqual({ PutItem: 1, UpdateItem: 97 });
  });

  test("a row of a thread that expires is renewed at most once in half of ttlMs", async () => {
    wall = Date.now();
    const store = coldStores({ ttlMs: 10 * DAY }).open();
    await fill(store, 100, "Hello");
    updatesOfRow.clear();
    // A commit in two hours, for two weeks.
    for (let commit = 0; commit < 7 * 24; commit++) {
      wall += DAY / 12;
      await store.addMessages([user("Hello")]);
    }
    wall = undefined;
    expect(updatesOfRow.size).toBeGreaterThanOrEqual(100);
    expect(Math.max(...updatesOfRow.values())).toBeLessThanOrEqual(3);
  });
});
