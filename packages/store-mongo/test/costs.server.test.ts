import { sharedServer } from "@scrollback/conformance/servers";
import { RecordLogDriver } from "@scrollback/record-log";
import type { StoreOptions } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { BSON, type Document } from "mongodb";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { keysFrom } from "../src/document.ts";
import { MongoRecordLog } from "../src/mongo-log.ts";
import { parseOptions } from "../src/options.ts";
import { makeCollection, type TestCollection } from "./collection.ts";
import { type SentCommand, takeNames, watchable, watchCommands } from "./commands.ts";
import { user, users } from "./messages.ts";

const isDeep = process.env.SCROLLBACK_DEEP === "1";

// These figures are also in docs/reference/store-mongo.md: a change of one is a change of both.

const server = sharedServer("mongodb");
let collection: TestCollection;
const drivers: RecordLogDriver[] = [];

beforeAll(async () => {
  collection = makeCollection((await server).url);
});
afterEach(async () => {
  for (const driver of drivers.splice(0)) await driver.close();
});
afterAll(async () => {
  await collection[Symbol.asyncDispose]();
});

/** Stores of a process with empty caches, and a record of its commands. */
function coldStores(options?: StoreOptions) {
  const { url, database, collectionName } = collection;
  const { collection: used } = parseOptions({ url: watchable(url), database, collectionName });
  const sent = watchCommands(used.client);
  const driver = new RecordLogDriver(new MongoRecordLog(used));
  drivers.push(driver);
  return { stores: createStores(driver, options), sent };
}

/** The size of a command on the wire, without its session. */
const weight = ({ lsid, $clusterTime, ...command }: SentCommand) => JSON.stringify(command).length;

describe("a commit", () => {
  test("is one insert, and after 20,000 messages the same one as after 10", async () => {
    const { stores, sent } = coldStores();
    const [short, long] = [stores.open(), stores.open()];
    for (let message = 0; message < 10; message++) await short.addMessages([user("Hello")]);
    const commits = isDeep ? 500 : 100;
    for (let left = 20_000 - 20 * commits; left > 0; left -= 1_000) await long.addMessages(users(1_000));
    for (let commit = 0; commit < commits; commit++) await long.addMessages(users(20));
    const weights: number[] = [];
    for (const store of [short, long]) {
      takeNames(sent);
      await store.addMessages([user("Hello")]);
      expect(sent.map(({ name }) => name)).toEqual(["insert"]);
      weights.push(weight(sent[0] as SentCommand));
    }
    const [few = 0, many = 0] = weights;
    // The numbers in the long thread's row have more digits.
    expect(Math.abs(many - few)).toBeLessThan(60);
  });

  test("by a process that does not know the thread is one more query", async () => {
    const { stores } = coldStores();
    const store = stores.open();
    for (let message = 0; message < 100; message++) await store.addMessages([user("Hello")]);
    const cold = coldStores();
    await cold.stores.open(store.threadId).addMessages([user("Hello")]);
    expect(takeNames(cold.sent)).toEqual(["find", "insert"]);
    await cold.stores.open(store.threadId).addMessages([user("Hello")]);
    expect(takeNames(cold.sent)).toEqual(["insert"]);
  });

  test("of a trimmed thread is one more update at every 32nd commit", async () => {
    const { stores, sent } = coldStores({ maxMessages: 20 });
    const store = stores.open();
    for (let message = 0; message < 64; message++) await store.addMessages([user("Hello")]);
    takeNames(sent);
    for (let message = 0; message < 64; message++) await store.addMessages([user("Hello")]);
    const names = takeNames(sent);
    expect(names.filter((name) => name === "insert")).toHaveLength(64);
    expect(names.filter((name) => name === "update")).toHaveLength(2);
    expect(names).toHaveLength(66);
  });

  test("larger than one document is one insert for each fragment, and one more", async () => {
    const { stores, sent } = coldStores();
    const store = stores.open();
    await store.addMessages([user("Hello")]);
    takeNames(sent);
    const large = Array.from({ length: 5 }, () => user("x".repeat(3 * 1024 ** 2)));
    await store.addMessages(large);
    const names = takeNames(sent);
    expect(names).toEqual(Array(3 + 1).fill("insert"));
    expect(await store.listMessages()).toHaveLength(6);
  });
});

describe("a document", () => {
  test.each([
    ["", {}, 380],
    [" with trimming and expiry", { maxMessages: 20, ttlMs: 1e8 }, 480],
  ])("is its texts and a bounded number of bytes more%s", async (_, options, bytes) => {
    const { stores } = coldStores(options);
    const store = stores.open();
    for (let message = 0; message < 100; message++) await store.addMessages([user("Hello")]);
    const [row] = await collection.rows
      .find({ _id: keysFrom(store.threadId, 1, Number.POSITIVE_INFINITY) })
      .sort({ _id: -1 })
      .limit(1)
      .toArray();
    // The thread's id has 36 bytes.
    const rest = BSON.calculateObjectSize(row ?? {}) - (row?.texts.join("").length ?? 0);
    expect(rest).toBeLessThanOrEqual(bytes);
    expect(rest).toBeGreaterThan(bytes - 40);
  });
});

describe("a read", () => {
  test("of the newest messages is one query, independent of the thread's length", async () => {
    const { stores, sent } = coldStores({ maxMessages: 400 });
    const store = stores.open();
    for (let message = 0; message < 300; message++) await store.addMessages([user("Hello")]);
    for (const limit of [1, 20, 250]) {
      takeNames(sent);
      expect(await store.listMessages({ limit })).toHaveLength(limit);
      expect(takeNames(sent)).toEqual(["find"]);
    }
    const cold = coldStores();
    expect(await cold.stores.open(store.threadId).listMessages({ limit: 20 })).toHaveLength(20);
    expect(takeNames(cold.sent)).toEqual(["find"]);
  });
});

describe("other operations", () => {
  test("a clear is one insert and one update", async () => {
    const { stores, sent } = coldStores();
    const store = stores.open();
    for (let message = 0; message < 40; message++) await store.addMessages([user("Hello")]);
    takeNames(sent);
    await store.clear();
    expect(takeNames(sent)).toEqual(["insert", "update"]);
  });

  test("a system message far back is one more query, at the same time", async () => {
    const { stores, sent } = coldStores({ maxMessages: 20 });
    const store = stores.open();
    await store.addMessages([{ role: "system", content: "Be brief." }]);
    for (let message = 0; message < 60; message++) await store.addMessages([user("Hello")]);
    takeNames(sent);
    expect((await store.listMessages({ limit: 20 }))[0]).toEqual({ role: "system", content: "Be brief." });
    expect(takeNames(sent)).toEqual(["find", "find"]);
  });

  test("a whole thread is one query of 256 commits, and then one for each 4 MiB", async () => {
    const { stores, sent } = coldStores();
    const store = stores.open();
    const commits = isDeep ? 600 : 300;
    for (let commit = 0; commit < commits; commit++) await store.addMessages([user("Hello")]);
    takeNames(sent);
    expect(await store.listMessages()).toHaveLength(commits);
    expect(takeNames(sent)).toEqual(["find", "find"]);
  });
});

test("a page of a listing is one query, and one more for each thread on it", async () => {
  const { stores } = coldStores();
  const prefix = `${crypto.randomUUID()}/`;
  for (let thread = 0; thread < 25; thread++) await stores.open(`${prefix}${thread}`).addMessages(users(1));
  const cold = coldStores();
  expect((await cold.stores.listThreads({ prefix, limit: 10 })).threads).toHaveLength(10);
  expect(takeNames(cold.sent)).toEqual(Array(11).fill("find"));
});

test("a deletion is two queries, one insert and two updates", async () => {
  const { stores, sent } = coldStores({ maxMessages: 20 });
  const store = stores.open();
  for (let message = 0; message < 70; message++) await store.addMessages([user("Hello")]);
  takeNames(sent);
  await stores.deleteThread(store.threadId);
  expect(takeNames(sent)).toEqual(["find", "find", "insert", "update", "update"]);
});

/** The plans in an explanation, the inner ones too. */
function* plansOf(value: unknown): Generator<Document> {
  if (typeof value !== "object" || value === null) return;
  yield value as Document;
  for (const inner of Object.values(value)) yield* plansOf(inner);
}

describe("no path scans the collection", () => {
  const commands: [string, (run: ReturnType<typeof coldStores>) => Promise<unknown>][] = [
    ["a first write", ({ stores }) => stores.open("explained").addMessages([user("Hello")])],
    ["a read of the newest", ({ stores }) => stores.open("explained").listMessages({ limit: 20 })],
    ["a read of all", ({ stores }) => stores.open("explained").listMessages()],
    ["a clear", ({ stores }) => stores.open("explained").clear()],
    [
      "a renewed expiry",
      async ({ stores }) => {
        await stores.open("explained").addMessages([user("Hello")]);
        await createStores(drivers.at(-1) as RecordLogDriver, { ttlMs: 1_000 })
          .open("explained")
          .addMessages(users(1));
        await createStores(drivers.at(-1) as RecordLogDriver, { ttlMs: 1e9 })
          .open("explained")
          .addMessages(users(1));
        await stores.open("explained").addMessages(users(1));
      },
    ],
  ];

  beforeAll(async () => {
    const { stores } = coldStores();
    await stores.setup();
    const others = Array.from({ length: 3_000 }, (_, index) => ({
      _id: `other-${index % 30}:${String(index).padStart(16, "0")}`,
      head: "{}",
      texts: ["t"],
      ...(index % 2 === 0 && { expiresAt: new Date(Date.now() + 1e9) }),
    }));
    await collection.rows.insertMany(others);
    for (let message = 0; message < 50; message++)
      await stores.open("explained").addMessages([user("Hello")]);
  });

  test.each(commands)("%s", async (_, run) => {
    const cold = coldStores();
    await run(cold);
    const database = collection.rows.db;
    let explained = 0;
    for (const { name, filter, sort, limit, updates = [] } of cold.sent) {
      if (name === "insert") continue;
      // An update is explained as a query with its filter and hint, because the server plans both in the same way.
      const queries =
        name === "find"
          ? [{ filter, sort, limit }]
          : updates.map((update: Document) => ({ filter: update.q, hint: update.hint }));
      for (const query of queries) {
        const explanation = await database.command({
          explain: { find: collection.collectionName, ...query },
        });
        const plans = [...plansOf(explanation.queryPlanner)];
        const stages = plans
          .flatMap((plan) => [plan.stage, plan["Node Type"]])
          .filter((stage) => stage !== undefined);
        expect(stages.join(" ")).toMatch(/IXSCAN|Index Scan|IDHACK|EXPRESS/);
        expect(stages.join(" ")).not.toMatch(/COLLSCAN|Seq Scan|Bitmap/);
        const indexes = plans
          .flatMap((plan) => [plan.indexName, plan["Index Name"]])
          .filter((index) => index !== undefined);
        expect(new Set(indexes)).toEqual(new Set(["_id_"]));
        explained += 1;
      }
    }
    expect(explained).toBeGreaterThan(0);
  });

  test("a listing, which goes by the index on roots", async () => {
    const { stores, sent } = coldStores();
    await stores.listThreads({ prefix: "expl", limit: 10 });
    const [{ name, filter, sort, limit, projection } = { name: "none" }] = sent;
    expect(name).toBe("find");
    const find = { find: collection.collectionName, filter, sort, limit, projection };
    const { queryPlanner } = await collection.rows.db.command({ explain: find });
    const plans = [...plansOf(queryPlanner)];
    expect(plans.flatMap((plan) => plan.indexName ?? plan["Index Name"] ?? [])).toContain("scrollback_roots");
    expect(JSON.stringify(plans)).not.toMatch(/COLLSCAN|Seq Scan/);
  });
});
