import { randomBytes } from "node:crypto";
import { sharedServer } from "@scrollback/conformance/servers";
import { MongoClient } from "mongodb";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createMongoStores } from "../src/index.ts";
import { documentsOf, makeCollection, type TestCollection } from "./collection.ts";
import { watchable, watchCommands } from "./commands.ts";
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

const entryIndex = { key: { index: 1, sort: 1 }, name: "scrollback_entries" };
const expiryOptions = { name: "scrollback_expiry", expireAfterSeconds: 0, sparse: true };
const expiryIndex = { key: { until: 1 }, ...expiryOptions };

describe("setup", () => {
  test("creates the indexes, and can run twice", async () => {
    const collection = await ownCollection();
    await using stores = createMongoStores(optionsOf(collection));
    await stores.setup();
    await stores.setup();
    const indexes = await collection.heads.indexes();
    expect(indexes.map(({ name }) => name)).toEqual(["_id_", "scrollback_expiry"]);
    expect(indexes.slice(1)).toMatchObject([expiryIndex]);
    const ofEntries = await collection.entries.indexes();
    expect(ofEntries.slice(1)).toMatchObject([{ key: { expiresAt: 1 }, ...expiryOptions }, entryIndex]);
  });

  test("lets threads and entries have any names of 1,024 bytes", async () => {
    const collection = await ownCollection();
    await using stores = createMongoStores(optionsOf(collection));
    await stores.setup();
    // Random, so that the server cannot compress them.
    const name = () => randomBytes(768).toString("base64url");
    const thread = stores.open(name());
    await thread.addMessages(users(100));
    expect(await thread.listMessages()).toEqual(users(100));
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
    expect(await collection.heads.indexes()).toHaveLength(2);
    expect(await stores.open("a").listMessages()).toEqual(users(1));
  });

  test("fails if another index has the same name", async () => {
    const collection = await ownCollection();
    await collection.heads.createIndex({ first: 1 }, { name: "scrollback_expiry" });
    await using stores = createMongoStores(optionsOf(collection));
    await expect(stores.setup()).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("another index"),
    });
  });
});

test("every document of a thread that expires has a date, and no document of another thread has", async () => {
  const collection = await ownCollection();
  const before = Date.now();
  await using brief = createMongoStores({ ...optionsOf(collection), ttlMs: 3 * HOUR });
  await using lasting = createMongoStores(optionsOf(collection));
  for (const stores of [brief, lasting])
    await stores.open(stores === brief ? "brief" : "lasting").commit({ append: users(100), metadata: "t" });
  const dates = (await documentsOf(collection, "brief")).map(({ until }) => Number(until));
  expect(dates.length).toBeGreaterThan(1);
  // Documents are kept longer than the thread: for ttlMs and 10 minutes.
  const kept = 6 * HOUR + 10 * 60_000;
  for (const date of dates) expect(date).toBeGreaterThanOrEqual(before + kept);
  for (const date of dates) expect(date).toBeLessThan(before + kept + HOUR);
  for (const document of await documentsOf(collection, "lasting"))
    expect(document).not.toHaveProperty("until");
});

describe("the option setup", () => {
  test("creates the indexes before the first calls of several processes at once, and says it", async () => {
    const collection = await ownCollection();
    const ids = ["a", "b", "c", "d"];
    const reports = await Promise.all(
      ids.map((id) => new ChildJob("first", collection, id).result<string[]>()),
    );
    const names = (indexes: { name?: string }[]) => indexes.map(({ name }) => name);
    expect(names(await collection.heads.indexes())).toEqual(["_id_", "scrollback_expiry"]);
    expect(names(await collection.entries.indexes())).toContain("scrollback_entries");
    await using stores = createMongoStores(optionsOf(collection));
    for (const id of ids) expect(await stores.open(id).listMessages()).toEqual(users(1));
    const { database, collectionName } = collection;
    for (const name of [collectionName, `${collectionName}.entries`])
      expect(reports.flat().join()).toContain(`${database}.${name}`);
  });

  test("sends its two commands once, before the first call, and makes nothing where all is there", async () => {
    const collection = await ownCollection();
    const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
    onTestFinished(() => warn.mockRestore());
    for (const warnings of [1, 1]) {
      const client = new MongoClient(watchable(collection.url));
      onTestFinished(() => client.close());
      const sent = watchCommands(client);
      const { database, collectionName } = collection;
      await using stores = createMongoStores({ client, database, collectionName, setup: true });
      await stores.open("a").addMessages([user("1")]);
      await stores.open("a").listMessages();
      const commands = sent.map(({ name }) => name);
      expect(commands.slice(0, 2)).toEqual(["createIndexes", "createIndexes"]);
      expect(commands.slice(2)).not.toContain("createIndexes");
      expect(warn).toHaveBeenCalledTimes(warnings);
    }
  });

  test("works with an index of another kind, with a warning", async () => {
    const collection = await ownCollection();
    await collection.heads.createIndex({ first: 1 }, { name: "scrollback_expiry" });
    const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
    onTestFinished(() => warn.mockRestore());
    await using stores = createMongoStores({ ...optionsOf(collection), setup: true });
    await stores.open("a").addMessages([user("1")]);
    expect(await stores.open("a").listMessages()).toEqual(users(1));
    expect(warn.mock.calls.map(([warning]) => String(warning))).toEqual([
      expect.stringContaining("another index on until"),
    ]);
  });
});
