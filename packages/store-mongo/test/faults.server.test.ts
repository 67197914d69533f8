import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";
import { TcpProxy } from "@scrollback/conformance";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { StoreError, type StoreFactory } from "@scrollback/store-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createMongoStores } from "../src/index.ts";
import { makeCollection, throughProxy } from "./collection.ts";
import { user, users } from "./messages.ts";
import { rejection } from "./rejection.ts";

// A server of its own, as it is killed here.
let server: RunningServer;
beforeAll(async () => {
  server = await startServer("mongodb");
});
afterAll(() => server.stop());

const collectionName = () => `suite-${crypto.randomUUID()}`;

/** Stores on a collection of their own, through a proxy. */
async function proxiedStores(): Promise<{ proxy: TcpProxy; stores: StoreFactory } & AsyncDisposable> {
  const proxy = new TcpProxy();
  const url = await throughProxy(server.url, proxy);
  const stores = createMongoStores({ url, collectionName: collectionName() });
  return {
    proxy,
    stores,
    async [Symbol.asyncDispose]() {
      await stores.close();
      await proxy.close();
    },
  };
}

describe("a server that is killed and comes back", () => {
  test("keeps all that was acknowledged, and writers under way go on by themselves", async () => {
    await using stores = createMongoStores({ url: server.url, collectionName: collectionName() });
    const acknowledged: string[] = [];
    let isOver = false;
    const writers = ["a", "b", "c"].map(async (writer) => {
      const store = stores.open("thread");
      for (let number = 0; !isOver; number++) {
        const name = `${writer} ${number}`;
        for (let isDone = false; !isDone; ) {
          isDone = await store.addMessages([user(name)], { operationId: name }).then(
            () => true,
            // An outage longer than the stores' own patience.
            (error: unknown) => {
              if (!StoreError.is(error, "UNAVAILABLE") || !error.retryable) throw error;
              return false;
            },
          );
        }
        acknowledged.push(name);
        await sleep(10);
      }
    });
    for (let round = 0; round < 3; round++) {
      await sleep(800);
      await server.kill();
      await sleep(round * 200);
      await server.start();
      const before = acknowledged.length;
      await expect.poll(() => acknowledged.length, { timeout: 20_000 }).toBeGreaterThan(before + 20);
    }
    isOver = true;
    await Promise.all(writers);
    const texts = (await stores.open("thread").listMessages()).map(({ content }) => String(content));
    expect(new Set(texts).size).toBe(texts.length);
    expect(texts.toSorted()).toEqual(acknowledged.toSorted());
    for (const writer of ["a", "b", "c"]) {
      const own = texts.filter((text) => text.startsWith(`${writer} `));
      expect(own).toEqual(own.map((_, number) => `${writer} ${number}`));
    }
  });

  test("is found again by every client, however the connection was lost", async () => {
    const all = await Promise.all(Array.from({ length: 12 }, proxiedStores));
    const threads = all.map(({ stores, proxy }) => ({ proxy, store: stores.open() }));
    for (const { store } of threads) await store.addMessages(users(1));
    // Longer than the least time between two looks at the server: the next look is taken as soon as the connection is lost.
    await sleep(300);
    for (let round = 0; round < 3; round++) {
      const reading = threads.map(({ store }) => store.listMessages());
      await sleep(1);
      for (const { proxy } of threads) proxy.cutConnections();
      for (const read of await Promise.all(reading)) expect(read).toEqual(users(1));
      for (const { store } of threads) expect(await store.listMessages()).toEqual(users(1));
    }
    for (const one of all) await one[Symbol.asyncDispose]();
  });
});

describe.concurrent("a server that never answers", () => {
  test.each(["drop-reply", "hang"] as const)("%s: the call fails in time, as retryable", async (kind) => {
    await using own = await proxiedStores();
    const { proxy, stores } = own;
    const store = stores.open();
    await store.addMessages(users(1));
    proxy.set({ kind });
    const start = performance.now();
    for (const outcome of await Promise.allSettled([store.addMessages(users(1)), store.listMessages()])) {
      expect(outcome).toMatchObject({ reason: { code: "UNAVAILABLE", retryable: true } });
    }
    expect(performance.now() - start).toBeGreaterThan(3_500);
    // Two requests of 4 seconds, a look for the server, and the pauses between them.
    expect(performance.now() - start).toBeLessThan(14_000);
    proxy.set({ kind: "pass" });
    expect((await store.listMessages())[0]).toEqual(user("1"));
  });

  test("whose one reply was lost is asked again, and the commit counts once", async () => {
    await using own = await proxiedStores();
    const { proxy, stores } = own;
    const store = stores.open();
    await store.addMessages([user("1")]);
    proxy.set({ kind: "drop-reply", times: 1 });
    await store.addMessages([user("2")]);
    expect(proxy.mode.kind, "the reply was lost").toBe("pass");
    expect(await store.listMessages()).toEqual(users(2));
  });

  test("does not keep a factory from closing, nor a process from ending", async () => {
    await using own = await proxiedStores();
    const { proxy, stores } = own;
    await stores.open().addMessages(users(1));
    proxy.set({ kind: "hang" });
    const waiting = rejection(stores.open().listMessages());
    await sleep(50);
    const start = performance.now();
    await stores.close();
    expect(await waiting).toMatchObject({ code: "CLOSED" });
    expect(performance.now() - start).toBeLessThan(1_500);
  });
});

describe.concurrent("a server that cannot be used", () => {
  test("because nothing listens there: retryable, with the reason, and later it works", async () => {
    const proxy = new TcpProxy();
    const url = await throughProxy(server.url, proxy);
    proxy.set({ kind: "down" });
    await using stores = createMongoStores({ url, collectionName: collectionName() });
    const store = stores.open();
    const start = performance.now();
    const [first, second] = await Promise.all([
      rejection(store.listMessages()),
      rejection(store.addMessages(users(1))),
    ]);
    for (const error of [first, second]) {
      expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
      expect(error.message).toContain("could not reach 127.0.0.1:");
      expect(inspect(error.cause)).toMatch(/127\.0\.0\.1/);
    }
    expect(performance.now() - start).toBeLessThan(12_000);
    proxy.set({ kind: "pass" });
    await store.addMessages(users(2));
    expect(await store.listMessages()).toEqual(users(2));
    await stores.close();
    await proxy.close();
  });

  test.each(["SCRAM-SHA-256", "SCRAM-SHA-1"])(
    "because it refuses the login (%s): at once, and no secret is told",
    async (mechanism) => {
      const url = new URL(server.url);
      url.username = "app-user";
      url.password = "hunter2";
      url.searchParams.set("authMechanism", mechanism);
      await using stores = createMongoStores({ url: url.href, collectionName: collectionName() });
      const start = performance.now();
      for (const call of [
        () => stores.open().listMessages(),
        () => stores.open().addMessages([user("a private text")]),
        () => stores.setup(),
      ]) {
        const error = await rejection(call());
        expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
        expect(error.message).toContain("login");
        expect(error.message).not.toMatch(/hunter2|app-user|localhost/);
        expect(inspect(error, { depth: 20, showHidden: true })).not.toMatch(/hunter2|private/);
      }
      expect(performance.now() - start).toBeLessThan(3_000);
      expect(inspect(stores, { depth: 20, showHidden: true })).not.toContain("hunter2");
    },
  );
});

test("a text that failed to be stored stands in no error", async () => {
  await using own = await proxiedStores();
  const { proxy, stores } = own;
  const store = stores.open("a");
  await store.addMessages(users(1));
  proxy.set({ kind: "cut-request", afterBytes: 100 });
  const error = await rejection(
    store.addMessages([user(`a private text ${"x".repeat(10_000)}`)], { signal: AbortSignal.timeout(9_000) }),
  );
  proxy.set({ kind: "pass" });
  expect(error.code).toBe("UNAVAILABLE");
  expect(inspect(error, { depth: 20, showHidden: true, maxStringLength: null })).not.toContain("private");
});

test("threads whose ids have characters with a meaning to the server never mix", async () => {
  const collection = makeCollection(server.url);
  const { url, database, collectionName: name } = collection;
  await using stores = createMongoStores({ url, database, collectionName: name });
  const ids = [
    "$where",
    "a.b",
    "{$gt:''}",
    "a:0000000000000001",
    "a",
    "a:",
    "%3A",
    ":",
    "a\0",
    "__proto__",
    "é",
    "e\u0301",
  ];
  await Promise.all(
    ids.map((id) => stores.open(id).commit({ append: [user(id)], metadata: { $set: { "a.b": id } } })),
  );
  for (const id of ids) {
    expect(await stores.open(id).read()).toMatchObject({
      entries: [{ message: user(id) }],
      metadata: { $set: { "a.b": id } },
    });
  }
  // A root and a commit each.
  expect(await collection.rows.countDocuments()).toBe(2 * ids.length);
  await collection[Symbol.asyncDispose]();
});
