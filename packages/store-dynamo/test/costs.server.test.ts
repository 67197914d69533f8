import { setTimeout as sleep } from "node:timers/promises";
import type { BatchStatementRequest } from "@aws-sdk/client-dynamodb";
import { sharedServer } from "@scrollback/conformance/servers";
import { RecordLogDriver } from "@scrollback/record-log";
import type { MessageStore, StoreOptions } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import type { Clock } from "@scrollback/store-core/internal";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import { DynamoRecordLog } from "../src/dynamo-log.ts";
import { user } from "./messages.ts";
import { makeTable, type TestTable } from "./table.ts";

// These figures are also in docs/reference/store-dynamo.md: a change of one is a change of both.

const server = sharedServer("dynamodb");
let table: TestTable;
/**
 * The capacity units of each request. DynamoDB Local does not report them for a batch of statements, so the number of its
 * statements is used. Each statement takes one write unit per KB of its row.
 */
let consumed: { action: string; units: number }[] = [];
/** The number of updates of each row, by row number. */
const updatesOfRow = new Map<string, number>();

beforeAll(async () => {
  table = await makeTable((await server).url);
  table.raw.middlewareStack.add(
    (next, context) => async (args) => {
      const result = await next({ ...args, input: { ...args.input, ReturnConsumedCapacity: "TOTAL" } });
      const { Statements = [] } = args.input as { Statements?: readonly BatchStatementRequest[] };
      for (const { Statement = "", Parameters = [] } of Statements) {
        const values = Statement.split("WHERE")[0]?.match(/\?/g)?.length ?? 0;
        const row = Parameters[values + 1]?.N ?? "";
        updatesOfRow.set(row, (updatesOfRow.get(row) ?? 0) + 1);
      }
      const { ConsumedCapacity } = result.output as { ConsumedCapacity?: { CapacityUnits?: number } };
      const action = String(context.commandName).replace(/Command$/, "");
      consumed.push({ action, units: ConsumedCapacity?.CapacityUnits ?? Statements.length });
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
});

const DAY = 24 * 60 * 60 * 1_000;
/** The driver's time; undefined: the real time. */
let wall: number | undefined;
const clock: Clock = {
  wall: () => wall ?? Date.now(),
  monotonic: () => wall ?? performance.now(),
  sleep: (ms) => sleep(ms),
};

/** Stores of a process with empty caches. */
function coldStores(options?: StoreOptions) {
  const { raw: client, tableName } = table;
  return createStores(
    new RecordLogDriver(new DynamoRecordLog({ client, tableName, owned: false }), { clock }),
    options,
  );
}

/** The cost of an operation: the sum of units by action. */
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
    ["", {}, 650],
    [" with maxMessages", { maxMessages: 50 }, 620],
    [" with maxMessages and ttlMs", { maxMessages: 50, ttlMs: 7 * DAY }, 560],
  ])("of text%s takes 1 write unit up to its stated length, and 2 above it", async (_, options, length) => {
    const store = coldStores(options).open();
    await fill(store, 100, "Hello");
    for (let round = 0; round < 8; round++) {
      expect((await unitsOf(() => store.addMessages([user("x".repeat(length))]))).PutItem).toBe(1);
    }
    expect((await unitsOf(() => store.addMessages([user("x".repeat(length + 90))]))).PutItem).toBe(2);
  });

  test("takes 1 write unit and no other request, at 10 and at 100,000 messages", async () => {
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

  test("of 20 messages takes one write unit per KB of their total size", async () => {
    const store = coldStores().open();
    await fill(store, 2, "Hello");
    const twenty = Array.from({ length: 20 }, () => user("x".repeat(475)));
    expect(await unitsOf(() => store.addMessages(twenty))).toEqual({ PutItem: 11 });
  });

  test("by a process that does not know the thread also reads its newest 80 rows", async () => {
    const store = coldStores().open();
    await fill(store, 100, "x".repeat(640));
    const cold = coldStores().open(store.threadId);
    consumed = [];
    await cold.addMessages([user("Hello")]);
    expect(consumed).toEqual([
      { action: "Query", units: 20 },
      { action: "PutItem", units: 1 },
    ]);
  });
});

describe("a listing", () => {
  test("is a query for each finished shard and one for each thread; a first commit writes the index once", async () => {
    const prefix = `${crypto.randomUUID()}/`;
    const stores = coldStores();
    const first = await unitsOf(() => stores.open(`${prefix}first`).addMessages([user("Hello")]));
    // The root, the commit, and the index.
    expect(first.PutItem).toBe(3);
    expect(await unitsOf(() => stores.open(`${prefix}first`).addMessages([user("Hello")]))).toEqual({
      PutItem: 1,
    });
    for (let thread = 0; thread < 60; thread++)
      await stores.open(`${prefix}${thread}`).addMessages([user("Hello")]);
    const queriesOf = async (limit: number) => {
      consumed = [];
      const { threads, cursor } = await coldStores().listThreads({ prefix, limit });
      return { listed: threads.length, isLast: cursor === undefined, requests: consumed.length };
    };
    expect(await queriesOf(1)).toEqual({ listed: 1, isLast: false, requests: 1 + 1 });
    expect(await queriesOf(1_000)).toEqual({ listed: 61, isLast: true, requests: 8 + 61 });
  });

  test("of a deletion is two queries, the closing item, an update of each item in batches of 25, and one of the closing item", async () => {
    const stores = coldStores();
    const store = stores.open();
    await fill(store, 40, "Hello");
    consumed = [];
    await stores.deleteThread(store.threadId);
    const actions = consumed.map(({ action }) => action);
    // Two queries before the deletion, and one for the rows.
    expect(actions.filter((action) => action === "Query")).toHaveLength(2 + 1);
    expect(actions.filter((action) => action === "PutItem")).toHaveLength(1);
    expect(actions.filter((action) => action === "BatchExecuteStatement")).toHaveLength(2 + 1);
  });
});

describe("a read", () => {
  test("takes a read unit for each 4 KB that it reads, in one request under 1 MB", async () => {
    const store = coldStores().open();
    await fill(store, 60, "x".repeat(640));
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

  test("reads no older rows than its messages need, beyond 1 MB", async () => {
    const store = coldStores().open();
    await fill(store, 12, "x".repeat(250_000));
    consumed = [];
    expect(await store.listMessages({ limit: 6 })).toHaveLength(6);
    expect(consumed.map(({ action }) => action)).toEqual(["Query", "Query"]);
    expect(await unitsOf(() => store.listMessages({ limit: 2 }))).toEqual({ Query: 184 });
  });
});

describe("trimming, clearing and expiry", () => {
  test.each(
    [
      [20, 2],
      [50, 1.5],
      [100, 1],
    ].slice(0, rounds(1, 3)) as [number, number][],
  )(
    "trimming to %d messages takes at most %d more write units per commit, in 3 requests at every 32nd commit",
    async (maxMessages, units) => {
      const store = coldStores({ maxMessages }).open();
      await fill(store, 200, "Hello");
      consumed = [];
      let [collections, most] = [0, 0];
      for (let commit = 0; commit < 320; commit++) {
        const before = consumed.length;
        await store.addMessages([user("Hello")]);
        const requests = consumed.length - before - 1;
        if (requests > 0) collections += 1;
        most = Math.max(most, requests);
      }
      expect(collections).toBe(10);
      expect(most).toBeLessThanOrEqual(3);
      const updates = consumed.filter(({ action }) => action === "BatchExecuteStatement");
      expect(consumed.length - updates.length).toBe(320);
      const sum = updates.reduce((total, update) => total + update.units, 0);
      expect(sum).toBeLessThanOrEqual(units * 320);
      expect(sum).toBeGreaterThan(0.7 * units * 320);
    },
  );

  test("a clear takes an update for each commit, 25 per request, and one query above 100 commits", async () => {
    const store = coldStores().open();
    await fill(store, 45, "x".repeat(640));
    consumed = [];
    await store.clear();
    const requests = ["PutItem", "BatchExecuteStatement", "BatchExecuteStatement"];
    expect(consumed.map(({ action }) => action)).toEqual(requests);
    expect(consumed.map(({ units }) => units)[0]).toBe(1);
    await fill(store, 120, "x".repeat(640));
    const { PutItem, BatchExecuteStatement, Query } = await unitsOf(() => store.clear());
    expect(PutItem).toBe(1);
    // The row of the clear itself may be included.
    expect(BatchExecuteStatement).toBeGreaterThanOrEqual(120);
    expect(BatchExecuteStatement).toBeLessThanOrEqual(121);
    expect(Query).toBeLessThanOrEqual(31);
  });

  test("a row of an expiring thread is renewed at most once per half of ttlMs", async () => {
    wall = Date.now();
    const store = coldStores({ ttlMs: 10 * DAY }).open();
    await fill(store, 100, "Hello");
    updatesOfRow.clear();
    // One commit every two hours for two weeks.
    for (let commit = 0; commit < 7 * 24; commit++) {
      wall += DAY / 12;
      await store.addMessages([user("Hello")]);
    }
    wall = undefined;
    expect(updatesOfRow.size).toBeGreaterThanOrEqual(100);
    expect(Math.max(...updatesOfRow.values())).toBeLessThanOrEqual(3);
  });
});
