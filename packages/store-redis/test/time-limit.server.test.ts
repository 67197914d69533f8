import { randomUUID } from "node:crypto";
import { startServer } from "@scrollback/conformance/servers";
import { test, vi } from "vitest";
import { createRedisStores } from "../src/index.ts";
import { majors, opened } from "./clients.ts";
import { user } from "./messages.ts";
import { throughProxy } from "./proxied.ts";
import { rejection } from "./rejection.ts";

vi.setConfig({ testTimeout: 90_000 });

const clients = [
  ["ioredis' defaults", {}],
  ["maxRetriesPerRequest: null", { maxRetriesPerRequest: null }],
] as const;

for (const { major, Redis } of majors) {
  test.concurrent.for(clients)(
    `C15 calls on a client of ${major} with %s end in an outage, and are not made later`,
    async ([, options], { expect, onTestFinished }) => {
      await using server = await startServer("redis");
      const keyPrefix = randomUUID();
      await using other = createRedisStores({ url: server.url, keyPrefix });
      for (const outage of ["down", "hang"] as const) {
        const { proxy, url } = await throughProxy(server, onTestFinished);
        const client = opened(new Redis(url, { ...options, retryStrategy: () => 100 }), onTestFinished);
        await using stores = createRedisStores({ client, keyPrefix });
        const [store, threadId] = [stores.open(`a-${outage}`), `a-${outage}`];
        await store.addMessages([user("1")]);
        proxy.set({ kind: outage });
        const began = performance.now();
        const errors = await Promise.all([
          rejection(store.addMessages([user("lost")])),
          rejection(store.listMessages()),
          rejection(stores.deleteThread(threadId)),
        ]);
        for (const error of errors) expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
        expect(performance.now() - began).toBeLessThan(20_000);
        // A hanging connection is lost: what was on it is not sent again.
        if (outage === "hang") proxy.set({ kind: "down" });
        proxy.set({ kind: "pass" });
        // On the same connection, so after everything that waited for it.
        expect(await store.listMessages()).toEqual([user("1")]);
        expect(await other.open(threadId).listMessages()).toEqual([user("1")]);
      }
    },
  );
}
