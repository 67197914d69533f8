import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { runFactory } from "@scrollback/conformance";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import type { StoreFactory } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createRedisStores, type RedisStoreOptions } from "../src/index.ts";
import { RedisDriver } from "../src/redis-driver.ts";
import { opened } from "./clients.ts";
import { type ClientName, clients } from "./connection.ts";
import { user } from "./messages.ts";
import { throughProxy } from "./proxied.ts";
import { rejection } from "./rejection.ts";

type Create = (options: RedisStoreOptions) => StoreFactory;

/** Stores on a URL by a client of any family, as `createRedisStores` makes them by the one that is installed. */
export const createWith =
  (name: ClientName): Create =>
  ({ url = "", keyPrefix, client: _, credentials: __, ...options }) =>
    createStores(new RedisDriver(clients[name].to(new URL(url)), keyPrefix), options);

/** Declares the tests of a factory with a `url`, which must pass with any supported client. */
export function declareOwnClientTests(major: string, create: Create = createRedisStores): void {
  let server: RunningServer;
  beforeAll(async () => {
    // A server of its own, because it is killed; it acknowledges a write after writing it to disk.
    server = await startServer("redis", {
      password: "hunter2",
      args: ["--appendonly", "yes", "--appendfsync", "always"],
    });
  });
  afterAll(() => server.stop());

  describe(`the factory's own client of ${major}`, () => {
    runFactory<RedisStoreOptions>({
      name: "Redis",
      create,
      secret: "hunter2",
      proxied: {
        async options(proxy) {
          return { url: await proxy.forwardUrl(server.url, 6379), keyPrefix: randomUUID() };
        },
      },
    });

    test("closes a connection that does not reply once, although all its calls time out", async () => {
      const { proxy, url } = await throughProxy(server);
      await using stores = create({ url, keyPrefix: randomUUID() });
      const store = stores.open();
      await store.addMessages([user("1")]);
      const warnings: Error[] = [];
      const listener = (warning: Error) => warnings.push(warning);
      process.on("warning", listener);
      onTestFinished(() => void process.off("warning", listener));
      proxy.set({ kind: "drop-reply", times: 1 });
      await Promise.all(Array.from({ length: 20 }, () => store.addMessages([user("2")])));
      expect(warnings).toEqual([]);
      expect((await store.listMessages()).length).toBe(21);
    });

    test("reconnects once when its server becomes a replica while many calls wait", async () => {
      const raw = opened(new Redis(server.url));
      await using stores = create({ url: server.url, keyPrefix: randomUUID() });
      const store = stores.open();
      await store.addMessages([user("1")]);
      const warnings: Error[] = [];
      const listener = (warning: Error) => warnings.push(warning);
      process.on("warning", listener);
      onTestFinished(() => void process.off("warning", listener));
      await raw.call("replicaof", "127.0.0.1", "1");
      const adding = Promise.all(Array.from({ length: 20 }, () => store.addMessages([user("2")])));
      await sleep(200);
      await raw.call("replicaof", "no", "one");
      await adding;
      expect(warnings).toEqual([]);
      expect((await store.listMessages()).length).toBe(21);
    });

    test("stops at once when it is closed in an outage", async () => {
      await using stores = create({ url: "redis://127.0.0.1:1" });
      const waiting = rejection(stores.open().listMessages());
      await sleep(400);
      const start = performance.now();
      await stores.close();
      expect((await waiting).code).toBe("CLOSED");
      // Without close, the call would fail after 5 seconds of attempts.
      expect(performance.now() - start).toBeLessThan(2_500);
    });

    const withUser = (user: string) => ({ url: `redis://${user}${server.host}:${server.port}` });
    runFactory({
      name: "Redis",
      create,
      secret: "swordfish",
      refusals: {
        "without a password": () => ({ options: withUser(""), says: /password/ }),
        "with a wrong password": () => ({ options: withUser(":swordfish@"), says: /password/ }),
        "with a wrong user": () => ({ options: withUser("nobody:swordfish@"), says: /user name/ }),
      },
    });

    test("writes and reads nothing elsewhere if the server lacks that database", async () => {
      const keyPrefix = randomUUID();
      await using zero = create({ url: server.url, keyPrefix });
      await zero.open("a").addMessages([user("zero")]);
      await using beyond = create({ url: new URL("/99", server.url).href, keyPrefix });
      const store = beyond.open("a");
      const calls = [() => store.addMessages([user("lost")]), () => store.listMessages(), () => store.read()];
      // Concurrently on a new connection, then again on an established one.
      for (const errors of [
        await Promise.all(calls.map((call) => rejection(call()))),
        [await rejection(store.read())],
      ])
        for (const error of errors)
          expect(error).toMatchObject({
            code: "UNAVAILABLE",
            retryable: false,
            message: expect.stringContaining("database"),
          });
      expect(await zero.open("a").listMessages()).toEqual([user("zero")]);
    });
  });
}
