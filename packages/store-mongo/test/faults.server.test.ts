import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";
import { runFactory, TcpProxy } from "@scrollback/conformance";
import { type SharedServer, sharedServer } from "@scrollback/conformance/servers";
import type { StoreFactory } from "@scrollback/store-core";
import { MongoClient } from "mongodb";
import { beforeAll, describe, expect, test } from "vitest";
import { createMongoStores, type MongoStoreOptions } from "../src/index.ts";
import { throughProxy } from "./collection.ts";
import { user, users } from "./messages.ts";
import { rejection } from "./rejection.ts";

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer("mongodb");
});

const collectionName = () => `suite-${crypto.randomUUID()}`;

/** Stores on a separate collection, through a proxy. */
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

describe("a server whose connections are lost", () => {
  test("is reconnected by every client, after any loss of the connection", async () => {
    const all = await Promise.all(Array.from({ length: 12 }, proxiedStores));
    const threads = all.map(({ stores, proxy }) => ({ proxy, store: stores.open() }));
    for (const { store } of threads) await store.addMessages(users(1));
    // Longer than the minimum time between two server checks, so the next check runs as soon as the connection is lost.
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

runFactory<MongoStoreOptions>({
  name: "MongoDB",
  create: createMongoStores,
  secret: "hush",
  proxied: {
    async options(proxy) {
      return { url: await throughProxy(server.url, proxy), collectionName: collectionName() };
    },
    async handIn(proxy) {
      const client = new MongoClient(await throughProxy(server.url, proxy));
      return {
        options: { client, collectionName: collectionName() },
        use: () => client.db("app").command({ ping: 1 }),
        close: () => client.close(),
      };
    },
  },
});

describe.concurrent("a server that cannot be used", () => {
  test("because nothing listens there: retryable, with the reason, and works later", async () => {
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
    "because it refuses the login (%s): at once, and no secret is shown",
    async (mechanism) => {
      const url = new URL(server.url);
      url.username = "app-user";
      url.password = "hunter2";
      url.searchParams.set("authMechanism", mechanism);
      await using stores = createMongoStores({ url: url.href, collectionName: collectionName() });
      for (const call of [
        () => stores.open().listMessages(),
        () => stores.open().addMessages([user("a private text")]),
        () => stores.setup(),
      ]) {
        const start = performance.now();
        const error = await rejection(call());
        // A call that is repeated takes 5 seconds. One login takes most of a second of computing.
        expect(performance.now() - start).toBeLessThan(5_000);
        expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
        expect(error.message).toContain("login");
        expect(error.message).not.toMatch(/hunter2|app-user|localhost/);
        expect(inspect(error, { depth: 20, showHidden: true })).not.toMatch(/hunter2|private/);
      }
      expect(inspect(stores, { depth: 20, showHidden: true })).not.toContain("hunter2");
    },
  );
});

test("an error contains no text of a failed write", async () => {
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
