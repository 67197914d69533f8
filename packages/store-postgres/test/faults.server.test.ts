import { setTimeout as sleep } from "node:timers/promises";
import { runFactory, TcpProxy } from "@scrollback/conformance";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { StoreError, type StoreFactory } from "@scrollback/store-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { user, users } from "./messages.ts";
import { rejection } from "./rejection.ts";
import { makeTable, type TestTable, throughProxy } from "./table.ts";

// A server of its own, as it is killed here.
let server: RunningServer;
let table: TestTable;
beforeAll(async () => {
  server = await startServer("postgres");
  table = await makeTable(server.url);
});
afterAll(async () => {
  await table[Symbol.asyncDispose]();
  await server.stop();
});

/** Stores through a proxy. */
async function proxiedStores(): Promise<{ proxy: TcpProxy; stores: StoreFactory } & AsyncDisposable> {
  const proxy = new TcpProxy();
  const url = await throughProxy(server.url, proxy);
  const stores = createPostgresStores({ url, tableName: table.tableName });
  return {
    proxy,
    stores,
    async [Symbol.asyncDispose]() {
      await stores.close();
      await proxy.close();
    },
  };
}

describe("a server that never answers", () => {
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
    // Two requests of 4 seconds, a connection of 4, and the pauses between them.
    expect(performance.now() - start).toBeLessThan(16_000);
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

  test("does not keep a factory from closing", async () => {
    await using own = await proxiedStores();
    const { proxy, stores } = own;
    await stores.open().addMessages(users(1));
    proxy.set({ kind: "hang" });
    const waiting = rejection(stores.open().listMessages());
    await sleep(50);
    const start = performance.now();
    await stores.close();
    expect(await waiting).toMatchObject({ code: "CLOSED" });
    expect(performance.now() - start).toBeLessThan(2_000);
  });
});

runFactory({
  name: "PostgreSQL",
  create: createPostgresStores,
  secret: "hush",
  outages: {
    "because nothing listens there": [
      () => ({ url: "postgres://me:hush@127.0.0.1:1/app" }),
      "127.0.0.1:1 (ECONNREFUSED)",
    ],
    "because no host has the name": [
      () => ({ url: "postgres://me:hush@nohost.invalid/app" }),
      "nohost.invalid:5432 (E",
    ],
  },
  silent: (port) => ({ url: `postgres://me:hush@127.0.0.1:${port}/app` }),
});

test("a server that is killed and comes back keeps all that was acknowledged, and writers go on by themselves", async () => {
  await using stores = createPostgresStores({ url: server.url, tableName: table.tableName });
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
    await sleep(500);
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
