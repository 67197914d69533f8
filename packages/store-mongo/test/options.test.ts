import { runFactory } from "@scrollback/conformance";
import { DocumentDriver } from "@scrollback/documents";
import { openStores } from "@scrollback/store-core";
import { MongoClient } from "mongodb";
import { describe, expect, test } from "vitest";
import { createMongoStores } from "../src/index.ts";
import { MongoDocuments } from "../src/mongo-documents.ts";
import { parseOptions } from "../src/options.ts";

const url = "mongodb://localhost:27017";

runFactory({
  name: "MongoDB",
  create: createMongoStores,
  secret: "hunter",
  options: {
    url,
    client: () => new MongoClient(url),
    wrong: [
      [{ url, tableName: "chats" }, "tableName"],
      [
        { url: `${url}/?collectionName=hunter` },
        "option collectionName; pass collectionName to createMongoStores",
      ],
      [{ url: "mongodb://one:1,two:2/app?w=majority&database=hunter" }, "option database"],
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
      [{ client: { db() {}, connect() {} } }, "client"],
    ],
    wrongUrls: [
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
    ],
    urlMustRead: /url .*must read mongodb:\/\/\[user:password@\]host/,
    hidden: ["99999", "unknownOption"],
  },
});

describe("options", () => {
  test.each(["a.b", "a%20b", "a%2Fb", "$external"])(
    "a URL or client that names the database %s is refused",
    (name) => {
      const named = `mongodb://user:hunter2@localhost/${name}?authSource=admin`;
      expect(() => createMongoStores({ url: named })).toThrow(/the database of url must be/);
      expect(() => createMongoStores({ client: new MongoClient(named) })).toThrow(
        /the database of client must be/,
      );
      expect(parseOptions({ url: named, database: "app" }).collection.database).toBe("app");
    },
  );

  test("a write concern without acknowledgement is rejected", () => {
    expect(() => createMongoStores({ url: `${url}/?w=0` })).toThrow("url has the write concern w: 0");
    const client = new MongoClient(url, { writeConcern: { w: 0 } });
    expect(() => createMongoStores({ client })).toThrow("client has the write concern w: 0");
  });
});

describe("the collection", () => {
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
    expect(parseOptions({ url: text }).collection).toMatchObject({
      database,
      collectionName: "scrollback_messages",
      owned: true,
    });
    expect(parseOptions({ url: text, database: "other" }).collection.database).toBe("other");
  });

  test("of a client is the database that it names", () => {
    const client = new MongoClient(`${url}/app`);
    expect(parseOptions({ client }).collection).toMatchObject({ client, database: "app", owned: false });
    expect(parseOptions({ client, database: "other" }).collection.database).toBe("other");
    expect(parseOptions({ client, collectionName: "a.b" }).collection.collectionName).toBe("a.b");
  });

  test("has timeouts, unless its URL sets others", () => {
    const { options } = parseOptions({ url: `${url}/?SOCKETTimeoutMS=9000` }).collection.client;
    expect(options).toMatchObject({
      connectTimeoutMS: 4_000,
      serverSelectionTimeoutMS: 2_000,
      waitQueueTimeoutMS: 4_000,
      socketTimeoutMS: 9_000,
    });
  });
});

test("openStores accepts MongoDB's URLs, without I/O", async () => {
  await using stores = await openStores("mongodb://localhost/app", { maxMessages: 5 });
  expect(stores.settings).toEqual({ backend: "mongodb", maxMessages: 5 });
  expect(stores.open("a").threadId).toBe("a");
});

test("a driver's target has the database and the collection, and no secret", () => {
  const { collection: used } = parseOptions({
    url: "mongodb://app:hunter2@db/shop",
    collectionName: "chats",
  });
  const driver = new DocumentDriver(new MongoDocuments(used));
  expect(driver.target).toEqual({ collection: "chats", namespace: "shop" });
});
