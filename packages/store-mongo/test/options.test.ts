import { openStores, RecordLogDriver, StoreError } from "@scrollback/store-core";
import { MongoClient } from "mongodb";
import { describe, expect, test } from "vitest";
import { createMongoStores, type MongoStoreOptions } from "../src/index.ts";
import { MongoRecordLog } from "../src/mongo-log.ts";
import { parseOptions } from "../src/options.ts";

const url = "mongodb://localhost:27017";

function refusal(options: unknown): StoreError {
  try {
    createMongoStores(options as MongoStoreOptions);
  } catch (error) {
    if (StoreError.is(error, "INVALID_ARGUMENT")) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

describe("options", () => {
  test("url and client exclude each other, and one is needed", () => {
    const client = new MongoClient(url);
    expect(refusal({}).message).toContain("either url or client");
    expect(refusal(undefined).message).toContain("either url or client");
    expect(refusal({ url, client }).message).toContain("either url or client");
  });

  test.each([
    [{ url, maxMessage: 3 }, "maxMessage"],
    [{ url, tableName: "chats" }, "tableName"],
    [{ url, maxMessages: 0 }, "maxMessages"],
    [{ url, ttlMs: 1.5 }, "ttlMs"],
    [{ url, database: "" }, "database"],
    [{ url, database: "a.b" }, "database"],
    [{ url, database: "a b" }, "database"],
    [{ url, database: "$a" }, "database"],
    [{ url, database: "é".repeat(32) }, "database"],
    [{ url, database: 7 }, "database"],
    [{ url, collectionName: "" }, "collectionName"],
    [{ url, collectionName: "$a" }, "collectionName"],
    [{ url, collectionName: "system.users" }, "collectionName"],
    [{ url, collectionName: ".a" }, "collectionName"],
    [{ url, collectionName: "a." }, "collectionName"],
    [{ url, collectionName: "a\0" }, "collectionName"],
    [{ url, collectionName: "a".repeat(121) }, "collectionName"],
    [{ client: {} }, "client"],
    [{ client: url }, "client"],
    [{ client: { db() {}, connect() {} } }, "client"],
  ])("%o is refused, naming %s", (options, name) => {
    expect(refusal(options).message).toContain(name);
  });

  test.each([
    "",
    "localhost:27017",
    "http://localhost",
    "mongodb:",
    "mongodb://",
    "mongodb:///app",
    "MONGODB://localhost",
    "mongodb://user:hunter/2@localhost",
    "mongodb://user:hunter@2@localhost",
    "mongodb://user:hunter%zz@localhost",
    "mongodb://user:hunter2@localhost:99999",
    "mongodb://user:hunter2@localhost/?tls=maybe",
    "mongodb://user:hunter2@localhost/?unknownOption=1",
    "mongodb://user:hunter2@localhost/?w=majority&w=1",
    "mongodb://user:hunter2@one,two/?directConnection=true",
    "mongodb+srv://user:hunter2@localhost:27017",
    42,
    null,
  ])("the url %o is refused, saying what it must be and not showing it", (wrong) => {
    const { message, cause } = refusal({ url: wrong });
    expect(message).toMatch(/url .*must read mongodb:\/\/\[user:password@\]host/);
    expect(message).not.toMatch(/hunter|99999|unknownOption/);
    expect(cause).toBeUndefined();
  });

  test.each(["a.b", "a%20b", "a%2Fb", "$external"])(
    "a URL or client that names the database %s is refused",
    (name) => {
      const named = `mongodb://user:hunter2@localhost/${name}?authSource=admin`;
      expect(refusal({ url: named }).message).toMatch(/the database that url names must be/);
      expect(refusal({ client: new MongoClient(named) }).message).toMatch(
        /the database that client names must be/,
      );
      expect(parseOptions({ url: named, database: "app" }).place.database).toBe("app");
    },
  );

  test("a write concern by which nothing is acknowledged is refused", () => {
    expect(refusal({ url: `${url}/?w=0` }).message).toContain("url has the write concern w: 0");
    const client = new MongoClient(url, { writeConcern: { w: 0 } });
    expect(refusal({ client }).message).toContain("client has the write concern w: 0");
  });
});

describe("the place", () => {
  test.each([
    [url, "scrollback"],
    [`${url}/`, "scrollback"],
    [`${url}/?retryWrites=false`, "scrollback"],
    [`${url}?retryWrites=false`, "scrollback"],
    [`${url}/app`, "app"],
    [`${url}/app?retryWrites=false`, "app"],
    ["mongodb://us%2Fer:p%40ss@one:1,two:2/app?replicaSet=rs", "app"],
    ["mongodb://user:pass@localhost/?authSource=admin", "scrollback"],
    ["mongodb+srv://cluster.example.net/app", "app"],
    ["mongodb://localhost/test", "test"],
    ["mongodb://localhost/caf%C3%A9", "café"],
  ])("of %s is the database %s", (text, database) => {
    expect(parseOptions({ url: text }).place).toMatchObject({
      database,
      collectionName: "scrollback_messages",
      owned: true,
    });
    expect(parseOptions({ url: text, database: "other" }).place.database).toBe("other");
  });

  test("of a client is the database that it names", () => {
    const client = new MongoClient(`${url}/app`);
    expect(parseOptions({ client }).place).toMatchObject({ client, database: "app", owned: false });
    expect(parseOptions({ client, database: "other" }).place.database).toBe("other");
    expect(parseOptions({ client, collectionName: "a.b" }).place.collectionName).toBe("a.b");
  });

  test("gives up in time, unless its URL says otherwise", () => {
    const { options } = parseOptions({ url: `${url}/?SOCKETTimeoutMS=9000` }).place.client;
    expect(options).toMatchObject({
      connectTimeoutMS: 4_000,
      serverSelectionTimeoutMS: 2_000,
      waitQueueTimeoutMS: 4_000,
      socketTimeoutMS: 9_000,
    });
  });
});

test("openStores takes MongoDB's URLs, without I/O", async () => {
  await using stores = await openStores("mongodb://localhost/app", { maxMessages: 5 });
  expect(stores.settings).toEqual({ backend: "mongodb", maxMessages: 5 });
  expect(stores.open("a").threadId).toBe("a");
});

test("a driver tells in which database and collection it keeps threads, and no secret", () => {
  const { place } = parseOptions({ url: "mongodb://app:hunter2@db/shop", collectionName: "chats" });
  const driver = new RecordLogDriver(new MongoRecordLog(place));
  expect(driver.target).toEqual({ collection: "chats", namespace: "shop" });
});
