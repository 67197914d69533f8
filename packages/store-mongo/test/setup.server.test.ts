import { randomBytes } from "node:crypto";
import { sharedServer } from "@scrollback/conformance/servers";
import { REMEMBERED_OPERATIONS } from "@scrollback/store-core/driver";
import { describe, expect, onTestFinished, test } from "vitest";
import { keyOf } from "../src/document.ts";
import { createMongoStores } from "../src/index.ts";
import { makeCollection, rowsOf, type TestCollection } from "./collection.ts";
import { user, users } from "./messages.ts";
import { ChildJob } from "./processes.ts";

const server = sharedServer("mongodb");

const HOUR = 60 * 60 * 1_000;

async function ownCollection(): Promise<TestCollection> {
  const collection = makeCollection((await server).url);
  onTestFinished(() => collection[Symbol.asyncDispose]());
  return collection;
}

function optionsOf({ url, database, collectionName }: TestCollection) {
  return { url, database, collectionName };
}

const rootIndex = { key: { root: 1 }, name: "scrollback_roots", sparse: true };
const entryIndex = { key: { index: 1, sort: 1 }, name: "scrollback_entries" };
const expiryIndex = { key: { expiresAt: 1 }, name: "scrollback_expiry", expireAfterSeconds: 0, sparse: true };

describe("setup", () => {
  test("creates the index for expiry and the one of roots, and can run twice", async () => {
    const collection = await ownCollection();
    await using stores = createMongoStores(optionsOf(collection));
    await stores.setup();
    await stores.setup();
    const indexes = await collection.rows.indexes();
    expect(indexes.map(({ name }) => name)).toEqual(["_id_", "scrollback_expiry", "scrollback_roots"]);
    expect(indexes.slice(1)).toMatchObject([expiryIndex, rootIndex]);
    const ofEntries = await collection.entries.indexes();
    expect(ofEntries.slice(1)).toMatchObject([expiryIndex, entryIndex]);
  });

  test("lets entries have any names of 1,024 bytes", async () => {
    const collection = await ownCollection();
    await using stores = createMongoStores(optionsOf(collection));
    await stores.setup();
    // Random, so that the server cannot compress them.
    const name = () => randomBytes(768).toString("base64url");
    const index = stores.index(name());
    const places = Array.from({ length: 3 }, (_, order) => ({ key: name(), id: name(), version: 0, order }));
    for (const { key, id, ...content } of places) await index.insert({ key, id }, { ...content, value: 1 });
    expect((await index.list()).entries).toMatchObject(places);
  });

  test("can run concurrently in several processes and with their first writes", async () => {
    const collection = await ownCollection();
    await using stores = createMongoStores(optionsOf(collection));
    const jobs = [1, 2, 3].map(() => new ChildJob("setup", collection));
    await Promise.all([
      ...jobs.map((job) => job.result()),
      stores.setup(),
      stores.open("a").addMessages([user("1")]),
      stores.setup(),
    ]);
    expect(await collection.rows.indexes()).toHaveLength(3);
    expect(await stores.open("a").listMessages()).toEqual(users(1));
  });

  test("keeps existing threads, and is not needed for them", async () => {
    const collection = await ownCollection();
    await using stores = createMongoStores({ ...optionsOf(collection), ttlMs: HOUR });
    await stores.open("a").addMessages(users(3));
    expect(await stores.open("a").listMessages()).toEqual(users(3));
    await stores.setup();
    expect(await stores.open("a").listMessages()).toEqual(users(3));
  });

  test("fails if another index has the same name", async () => {
    const collection = await ownCollection();
    await collection.rows.createIndex({ head: 1 }, { name: "scrollback_expiry" });
    await using stores = createMongoStores(optionsOf(collection));
    await expect(stores.setup()).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("another index"),
    });
  });
});

test("a listing is the same without setup", async () => {
  const collection = await ownCollection();
  await using stores = createMongoStores(optionsOf(collection));
  for (const id of ["a", "b", "c"]) await stores.open(id).addMessages(users(2));
  const first = await stores.listThreads({ limit: 2 });
  expect(first.threads.map(({ threadId }) => threadId).sort()).toEqual(["a", "b"]);
  await stores.setup();
  const { threads, cursor } = await stores.listThreads({ limit: 2, cursor: first.cursor ?? "" });
  expect([threads.map(({ threadId }) => threadId), cursor]).toEqual([["c"], undefined]);
});

describe("expiry", () => {
  test("every row of a thread that expires has a date, and no row of another thread has", async () => {
    const collection = await ownCollection();
    const before = Date.now();
    await using brief = createMongoStores({ ...optionsOf(collection), ttlMs: 3 * HOUR });
    await using lasting = createMongoStores(optionsOf(collection));
    await brief.open("brief").commit({ append: users(3), metadata: "title" });
    await brief.open("brief").addMessages(Array.from({ length: 5 }, () => user("x".repeat(3 * 1024 ** 2))));
    await lasting.open("lasting").addMessages(users(3));
    const dates = (await rowsOf(collection, "brief")).map(({ expiresAt }) => Number(expiresAt));
    expect(dates.length).toBeGreaterThan(3);
    // Rows are kept longer than the thread: for ttlMs or 24 hours, plus 3 days.
    const kept = 3 * HOUR + 24 * HOUR + 72 * HOUR;
    for (const date of dates) expect(date).toBeGreaterThanOrEqual(before + kept);
    for (const date of dates) expect(date).toBeLessThan(before + kept + HOUR);
    const root = await collection.rows.findOne({ _id: keyOf("brief", 1) });
    expect(Number(root?.expiresAt)).toBe((dates[0] ?? 0) + 30 * 24 * HOUR);
    const undated = await collection.rows.find({ expiresAt: { $exists: false } }).toArray();
    expect(undated.map(({ _id }) => _id.split(":")[0])).toEqual(["lasting", "lasting"]);
  });

  test("dead rows are blanked in place, and get a date when their keys are not needed", async () => {
    const collection = await ownCollection();
    await using stores = createMongoStores({ ...optionsOf(collection), maxMessages: 5 });
    const store = stores.open("a");
    for (let number = 1; number <= 200; number++) await store.addMessages([user(`text ${number}`)]);
    const rows = await rowsOf(collection, "a");
    const blank = rows.filter(({ texts }) => texts.length === 0);
    expect(blank.length).toBeGreaterThan(200 - 5 - REMEMBERED_OPERATIONS);
    const dated = rows.filter(({ expiresAt }) => expiresAt !== undefined);
    expect(dated.length).toBeGreaterThan(60);
    // The rows with the newest operation ids are still needed.
    expect(dated.length).toBeLessThanOrEqual(200 - REMEMBERED_OPERATIONS);
    expect(dated).toEqual(blank.slice(0, dated.length));
    for (const { expiresAt } of dated) expect(Number(expiresAt)).toBeGreaterThan(Date.now() + 47 * HOUR);
  });
});
