import { createRequire } from "node:module";
import { type AddressInfo, connect as connectSocket, createServer } from "node:net";
import { runFactory } from "@scrollback/conformance";
import { sharedServer } from "@scrollback/conformance/servers";
import { DocumentDriver } from "@scrollback/documents";
import { createStores } from "@scrollback/store-core/driver";
import { Db, MongoClient, type MongoClientOptions } from "mongodb";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { createMongoStores, type MongoStoreOptions } from "../src/index.ts";
import { MongoDocuments } from "../src/mongo-documents.ts";
import { parseOptions } from "../src/options.ts";
import { makeCollection, type TestCollection } from "./collection.ts";
import { type SentCommand, watchCommands } from "./commands.ts";
import { user, users } from "./messages.ts";
import { rejection } from "./rejection.ts";

const server = sharedServer("mongodb");
let collection: TestCollection;
beforeAll(async () => {
  collection = makeCollection((await server).url);
});
afterAll(async () => {
  await collection[Symbol.asyncDispose]();
});

/** A user's client, closed after the test, and options for stores on it. */
function ownClient(options: MongoClientOptions = {}, url = collection.url) {
  const client = new MongoClient(url, { monitorCommands: true, ...options });
  onTestFinished(() => client.close());
  const { database, collectionName } = collection;
  const storeOptions: MongoStoreOptions = { client, database, collectionName };
  return { client, storeOptions, sent: watchCommands(client) };
}

const namesOf = (sent: SentCommand[]) => [...new Set(sent.map(({ name }) => name))].sort();

/** Uses all operations of stores: append, trim, read, expiry, setup. */
async function useStores(options: MongoStoreOptions): Promise<void> {
  await using stores = createMongoStores({ maxMessages: 5, ttlMs: 1e8, ...options });
  const store = stores.open();
  await stores.setup();
  for (let number = 1; number <= 40; number++) await store.addMessages([user(String(number))]);
  expect(await store.listMessages()).toEqual(["36", "37", "38", "39", "40"].map(user));
  await store.clear();
}

/** The client of a second copy of `mongodb`, as an application has whose version is another one: none of its classes is ours. */
function otherClient(): typeof MongoClient {
  const require = createRequire(import.meta.url);
  const ours = Object.entries(require.cache).filter(([path]) => /[\\/](mongodb|bson)[\\/]/.test(path));
  for (const [path] of ours) delete require.cache[path];
  const other: typeof import("mongodb") = require("mongodb");
  for (const [path, module] of ours) require.cache[path] = module;
  return other.MongoClient;
}

const handIn =
  (options: MongoClientOptions, isConnected = false, Client = MongoClient) =>
  async () => {
    const { database, collectionName } = collection;
    const client = new Client(collection.url, options);
    if (isConnected) await client.connect();
    let isClosed = false;
    client.on("topologyClosed", () => {
      isClosed = true;
    });
    return {
      options: { client, database, collectionName, ttlMs: 1e8 },
      async use() {
        expect(isClosed).toBe(false);
        await client.db(database).command({ ping: 1 });
      },
      close: () => client.close(),
    };
  };

describe("a caller's client", () => {
  const factory = { name: "MongoDB", create: createMongoStores, secret: "hush" };
  runFactory({
    ...factory,
    handIn: handIn({}),
    unprepared: async () => {
      const { url, database, collectionName, ...empty } = makeCollection(collection.url);
      onTestFinished(() => empty[Symbol.asyncDispose]());
      return { url, database, collectionName };
    },
    otherSettings: {
      "raw BSON": handIn({ raw: true }),
      "BSON types": handIn({ promoteValues: false }),
      "Long and Buffer": handIn({ promoteLongs: false, promoteBuffers: true }),
      "integers as BigInt": handIn({ useBigInt64: true }),
      "other rules for undefined, RegExp and functions": handIn({
        ignoreUndefined: true,
        bsonRegExp: true,
        serializeFunctions: true,
      }),
      "some fields as raw BSON": handIn({ fieldsAsRaw: { messages: true, value: true, cursor: true } }),
      "checks of keys, none of UTF-8": handIn({ checkKeys: true, enableUtf8Validation: false }),
      "BSON types, binaries and raw BSON": handIn({
        ...{ promoteValues: false, promoteLongs: false, promoteBuffers: false, raw: true },
        ...{ bsonRegExp: true, ignoreUndefined: true, enableUtf8Validation: false },
      }),
      "another copy of mongodb": handIn({}, false, otherClient()),
      "no repeated requests": handIn({ retryReads: false, retryWrites: false }),
    },
  });
  describe("that its owner connected", () => {
    runFactory({ ...factory, handIn: handIn({}, true) });
  });

  test("that its owner has closed stays closed", async () => {
    const { client, storeOptions } = ownClient();
    await using stores = createMongoStores(storeOptions);
    await stores.open().addMessages(users(1));
    await client.close();
    const start = performance.now();
    for (const call of [() => stores.open().addMessages(users(1)), () => stores.open().listMessages()]) {
      const error = await rejection(call());
      expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
      expect(error.message).toContain("client");
    }
    expect(performance.now() - start).toBeLessThan(1_000);
  });

  test("that did not find its server at first retries", async () => {
    // No server listens there yet.
    const place = createServer();
    await new Promise<void>((resolve) => place.listen(0, "127.0.0.1", resolve));
    const { port } = place.address() as AddressInfo;
    await new Promise((resolve) => place.close(resolve));
    const { storeOptions } = ownClient({ serverSelectionTimeoutMS: 300 }, `mongodb://127.0.0.1:${port}`);
    await using stores = createMongoStores(storeOptions);
    const signal = AbortSignal.timeout(1_000);
    expect((await rejection(stores.open("late").listMessages({ signal }))).code).toMatch(
      /UNAVAILABLE|ABORTED/,
    );
    const { hostname, port: target } = new URL(collection.url);
    const later = createServer((socket) => {
      const upstream = connectSocket(Number(target), hostname);
      socket.on("error", () => upstream.destroy());
      upstream.on("error", () => socket.destroy());
      socket.pipe(upstream).pipe(socket);
    });
    await new Promise<void>((resolve) => later.listen(port, "127.0.0.1", resolve));
    onTestFinished(() => void later.close());
    expect(await stores.open("late").listMessages()).toEqual([]);
  });

  test("shares its connections among all threads", async () => {
    const { client, storeOptions } = ownClient({ maxPoolSize: 3 });
    let connections = 0;
    client.on("connectionCreated", () => {
      connections += 1;
    });
    await using stores = createMongoStores(storeOptions);
    const threads = Array.from({ length: 30 }, () => stores.open());
    await Promise.all(threads.map((store) => store.addMessages(users(2))));
    expect(await Promise.all(threads.map((store) => store.listMessages()))).toEqual(
      threads.map(() => users(2)),
    );
    expect(connections).toBeLessThanOrEqual(3);
  });
});

describe("concerns", () => {
  test("are those of a majority by default", async () => {
    const { storeOptions, sent } = ownClient();
    await useStores(storeOptions);
    expect(namesOf(sent)).toEqual(["createIndexes", "find", "insert", "update"]);
    for (const { name, writeConcern, readConcern } of sent) {
      if (name === "find") expect(readConcern).toEqual({ level: "majority" });
      else expect(writeConcern).toEqual({ w: "majority" });
    }
  });

  test.each<[string, MongoClientOptions, object, object]>([
    ["w: 1", { writeConcern: { w: 1 } }, { w: 1 }, { level: "majority" }],
    [
      "a journal and a limit",
      { writeConcern: { journal: true, wtimeoutMS: 900 } },
      { w: "majority", j: true, wtimeout: 900 },
      { level: "majority" },
    ],
    ["local reads", { readConcern: { level: "local" } }, { w: "majority" }, { level: "local" }],
  ])("of the client take precedence: %s", async (_, options, writes, reads) => {
    const { storeOptions, sent } = ownClient(options);
    await useStores(storeOptions);
    for (const { name, writeConcern, readConcern } of sent) {
      if (name === "find") expect(readConcern).toEqual(reads);
      else expect(writeConcern).toEqual(writes);
    }
  });

  test("of a URL take precedence", async () => {
    const { database, collectionName } = collection;
    const url = new URL(collection.url);
    url.search = "?w=1&readConcernLevel=local&monitorCommands=true";
    const { collection: used } = parseOptions({ url: url.href, database, collectionName });
    const sent = watchCommands(used.client);
    await using stores = createStores(new DocumentDriver(new MongoDocuments(used)));
    await stores.open().addMessages(users(1));
    expect(sent).toMatchObject([{ readConcern: { level: "local" } }, { writeConcern: { w: 1 } }]);
  });

  test("of pages are those of a majority, whatever the client's are, so that no head lists one that is lost", async () => {
    const { storeOptions, sent } = ownClient({ writeConcern: { w: 1, journal: true } });
    await using stores = createMongoStores(storeOptions);
    await stores.open().addMessages(users(100));
    const inserts = sent.filter(({ name }) => name === "insert");
    expect(inserts.map(({ writeConcern }) => writeConcern)).toEqual([
      { w: "majority", j: true },
      { w: 1, j: true },
    ]);
  });

  test.each([
    [{}, "primary"],
    [{ readPreference: "secondaryPreferred" }, "secondaryPreferred"],
  ] as const)("a client's read preference is not changed: %o", (options, mode) => {
    const made = vi.spyOn(Db.prototype, "collection");
    createMongoStores(ownClient(options).storeOptions);
    expect(made.mock.results.at(-1)?.value.readPreference.mode).toBe(mode);
    made.mockRestore();
  });
});

describe("a server without sessions", () => {
  /** A proxy to the server that removes the support for sessions from the server's greeting. */
  async function withoutSessions(): Promise<string> {
    const { hostname, port } = new URL(collection.url);
    const field = Buffer.from("logicalSessionTimeoutMinutes");
    const proxy = createServer((socket) => {
      const upstream = connectSocket(Number(port), hostname);
      socket.on("error", () => upstream.destroy());
      upstream.on("error", () => socket.destroy());
      socket.pipe(upstream);
      upstream.on("data", (chunk) => {
        // The greeting arrives in one chunk.
        for (let at = chunk.indexOf(field); at >= 0; at = chunk.indexOf(field)) chunk.write("x", at);
        socket.write(chunk);
      });
      upstream.on("close", () => socket.destroy());
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void proxy.close());
    return `mongodb://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  }

  test("supports every operation", async () => {
    const { storeOptions, sent } = ownClient({}, await withoutSessions());
    await useStores(storeOptions);
    expect(namesOf(sent)).toEqual(["createIndexes", "find", "insert", "update"]);
    for (const command of sent) expect(command).not.toHaveProperty("lsid");
  });

  test("is sent no transaction, nor is one with sessions", async () => {
    const { storeOptions, sent } = ownClient();
    await useStores(storeOptions);
    for (const command of sent) {
      expect(command).toHaveProperty("lsid");
      for (const field of ["startTransaction", "autocommit", "txnNumber"])
        expect(command).not.toHaveProperty(field);
    }
  });
});
