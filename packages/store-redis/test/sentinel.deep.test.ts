import { randomUUID } from "node:crypto";
import { type RedisSentinel, startRedisSentinel } from "@scrollback/conformance/servers/internal";
import type { MessageStore } from "@scrollback/store-core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createRedisStores } from "../src/index.ts";
import { majors, opened } from "./clients.ts";
import { user } from "./messages.ts";

let server: RedisSentinel;
beforeEach(async () => {
  server = await startRedisSentinel();
});
afterEach(() => server.stop());

describe.each(majors)("Sentinel with $major", ({ Redis }) => {
  test.each(["ordered", "after a crash"])(
    "a failover %s: nothing is doubled or out of order, and writes confirmed by a replica are kept",
    async (kind) => {
      const client = opened(
        new Redis({ ...server.connection, connectTimeout: 1_000, maxRetriesPerRequest: 1 }),
      );
      const store = createRedisStores({ client, keyPrefix: randomUUID() }).open();
      const confirmed: string[] = [];
      let connections = 0;
      client.on("connect", () => {
        connections += 1;
      });
      let isDone = false;
      const writing = (async () => {
        for (let number = 0; !isDone; number++) {
          try {
            const connection = connections;
            await store.addMessages([user(`${number} a`), user(`${number} b`)]);
            // WAIT refers only to the writes of its own connection. A new connection has none.
            const replicas = await client.wait(1, 200);
            if (replicas >= 1 && connection === connections) confirmed.push(`${number} a`, `${number} b`);
          } catch {
            // The failover took longer than the 5 seconds of retries: the batch was stored completely or not at all.
          }
        }
      })();
      await expect.poll(() => confirmed.length, { timeout: 10_000 }).toBeGreaterThan(20);
      if (kind === "ordered") await server.failover();
      else await (await server.master()).kill();
      // Without a second node no write is confirmed, so the test checks only that writing continues.
      const before = await lengthOf(store);
      await expect.poll(() => lengthOf(store), { timeout: 30_000 }).toBeGreaterThan(before + 20);
      isDone = true;
      await writing;
      const texts = (await store.listMessages()).map(({ content }) => String(content));
      expect(new Set(texts).size).toBe(texts.length);
      expect(texts).toEqual(
        texts.toSorted((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10) || a.localeCompare(b)),
      );
      for (const [index, text] of texts.entries())
        if (text.endsWith("a")) expect(texts[index + 1]).toBe(text.replace("a", "b"));
      expect(texts).toEqual(expect.arrayContaining(confirmed));
    },
  );
});

async function lengthOf(store: MessageStore): Promise<number> {
  return (await store.listMessages().catch(() => [])).length;
}
