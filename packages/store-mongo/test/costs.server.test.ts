import { sharedServer } from "@scrollback/conformance/servers";
import { DocumentDriver } from "@scrollback/documents";
import type { StoreOptions } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { BSON, type Document } from "mongodb";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { pageKey } from "../src/document.ts";
import { MongoDocuments } from "../src/mongo-documents.ts";
import { parseOptions } from "../src/options.ts";
import { makeCollection, type TestCollection } from "./collection.ts";
import { type SentCommand, takeNames, watchable, watchCommands } from "./commands.ts";
import { user, users } from "./messages.ts";

// These figures are also in docs/reference/store-mongo.md: a change of one is a change of both.

const server = sharedServer("mongodb");
let collection: TestCollection;
const drivers: DocumentDriver[] = [];

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
  const driver = new DocumentDriver(new MongoDocuments(used));
  drivers.push(driver);
  return { stores: createStores(driver, options), sent };
}

const weight = (command: SentCommand | undefined) => BSON.calculateObjectSize(command ?? {});

describe("a commit", () => {
  test.each([
    ["short", 10, "Hello"],
    ["long", 20_000, "Hello"],
    ["of large messages", 10, "Hello".repeat(1_000)],
  ])("sends its message and at most 2 KB, whatever the thread's length: %s", async (_, messages, text) => {
    const { stores, sent } = coldStores();
    const store = stores.open();
    for (let left = messages; left > 0; left -= 1_000)
      await store.addMessages(Array.from({ length: Math.min(left, 1_000) }, () => user(text)));
    // As many operations as a head remembers, and room in it.
    for (let commit = 0; commit < 100; commit++) await store.addMessages([user("Hello")]);
    sent.splice(0);
    while (sent.length !== 1) {
      sent.splice(0);
      await store.addMessages([user(text)]);
    }
    expect(sent[0]?.name).toBe("update");
    expect(weight(sent[0])).toBeLessThanOrEqual(2 * text.length + 2_048);
  });

  test("larger than one document is one insert, of all its pages, and one update", async () => {
    const { stores, sent } = coldStores();
    const store = stores.open();
    await store.addMessages([user("Hello")]);
    takeNames(sent);
    await store.addMessages(Array.from({ length: 5 }, () => user("x".repeat(3 * 1024 ** 2))));
    await store.addMessages([user("y".repeat(10 * 1024 ** 2))]);
    expect(takeNames(sent)).toEqual(["insert", "update", "insert", "update"]);
    const found = await store.listMessages();
    expect(found.map(({ content }) => content?.length)).toEqual([
      5,
      ...Array(5).fill(3 * 1024 ** 2),
      10 * 1024 ** 2,
    ]);
  });
});

/** The plans in an explanation, the inner ones too. */
function* plansOf(value: unknown): Generator<Document> {
  if (typeof value !== "object" || value === null) return;
  yield value as Document;
  for (const inner of Object.values(value)) yield* plansOf(inner);
}

describe("no path scans the collection", () => {
  const commands: [string, (run: ReturnType<typeof coldStores>) => Promise<unknown>][] = [
    ["a commit", ({ stores }) => stores.open("explained").addMessages([user("Hello")])],
    ["a read of all", ({ stores }) => stores.open("explained").listMessages()],
    ["a listing", ({ stores }) => stores.listThreads({ prefix: "expl", limit: 10 })],
    ["a listing of all", ({ stores }) => stores.listThreads({ limit: 10 })],
    [
      "expiries that are raised, and a deletion",
      async ({ stores }) => {
        const driver = drivers.at(-1) as DocumentDriver;
        for (const ttlMs of [1e5, 1e8])
          await createStores(driver, { ttlMs }).open("raised").addMessages(users(100));
        await stores.open("raised").addMessages(users(100));
        await stores.deleteThread("raised");
      },
    ],
  ];

  beforeAll(async () => {
    const { stores } = coldStores();
    await stores.setup();
    const until = new Date(Date.now() + 1e9);
    const others = Array.from({ length: 3_000 }, (_, index) => ({
      _id: pageKey(`other-${index % 30}`, `${index}`),
      messages: [],
      ...(index % 2 === 0 && { until }),
    }));
    await collection.pages.insertMany(others);
    await stores.open("explained").addMessages(users(200));
  });

  test.each(commands)("%s", async (_, run) => {
    const cold = coldStores();
    await run(cold);
    let explained = 0;
    for (const { name, filter, sort, projection, updates = [], deletes = [] } of cold.sent) {
      // An update or a removal is explained as a query with its filter, because the server plans both in the same way.
      const queries =
        name === "find"
          ? [{ filter, ...(sort && { sort }), ...(projection && { projection }) }]
          : [...updates, ...deletes].map(({ q }: Document) => ({ filter: q }));
      for (const query of queries) {
        const find = { find: collection.collectionName, ...query };
        const { queryPlanner } = await collection.heads.db.command({ explain: find });
        const plans = [...plansOf(queryPlanner)];
        const fields = (...names: string[]) =>
          plans.flatMap((plan) => names.flatMap((key) => plan[key] ?? []));
        expect(fields("stage", "Node Type").join(" ")).toMatch(/IXSCAN|Index Scan|IDHACK|EXPRESS/);
        expect(fields("stage", "Node Type").join(" ")).not.toMatch(/COLLSCAN|Seq Scan|Bitmap/);
        expect(new Set(fields("indexName", "Index Name"))).toEqual(new Set(["_id_"]));
        explained += 1;
      }
    }
    expect(explained).toBeGreaterThan(0);
  });
});
