import { randomUUID } from "node:crypto";
import { type SharedServer, sharedServer } from "@scrollback/conformance/servers";
import fc from "fast-check";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callDamaged } from "../../../conformance-tests/src/checks/errors.ts";
import { createRedisStores } from "../src/index.ts";
import { threadKeys } from "../src/keys.ts";
import { user } from "./messages.ts";

let server: SharedServer;
let raw: Redis;
beforeAll(async () => {
  server = await sharedServer("redis");
  raw = new Redis(server.url);
});
afterAll(() => raw.disconnect());

const number = fc.oneof(
  fc.nat(9).map(String),
  fc.constantFrom("1099511627776", "9".repeat(18), "9".repeat(400)),
);
const footer = fc.oneof(
  fc.string(),
  fc
    .array(number, { minLength: 12, maxLength: 12 })
    .map((fields) => `thread 1 incarnation ${fields.join(" ")}`),
  fc.tuple(number, number).map(([version, commits]) => `thread ${version} incarnation ${commits}`),
);
const field = fc.constantFrom("revision", "metadata", "op:first", "op:other", "more");
const damage = fc.oneof(
  fc.record({ footer }),
  fc.record({ field, value: fc.oneof(fc.string(), number, fc.constant("incarnation.9")) }),
  fc.record({ record: fc.string() }),
);

test("C16 reading a thread with damaged keys succeeds or fails with CORRUPT at once, not with a backend failure", async () => {
  const keyPrefix = randomUUID();
  await using strict = createRedisStores({ url: server.url, keyPrefix, maxMessages: 4 });
  await using tolerant = createRedisStores({ url: server.url, keyPrefix, onCorruptRecord: () => undefined });
  await fc.assert(
    fc.asyncProperty(damage, async (how) => {
      const threadId = randomUUID();
      const { messages, meta } = threadKeys(keyPrefix, threadId);
      const append = [{ role: "system" as const, content: "leading" }, user("a"), user("b")];
      await strict.open(threadId).commit({ append, metadata: "title" }, { operationId: "first" });
      await strict.open(threadId).addMessages([user("c"), user("d")]);
      if ("footer" in how) await raw.lset(messages, -1, how.footer);
      else if ("field" in how) await raw.hset(meta, how.field, how.value);
      else await raw.lset(messages, 1, how.record);
      const start = performance.now();
      for (const stores of [strict, tolerant]) {
        await callDamaged(stores.open(threadId), "CORRUPT", "UNSUPPORTED", "CONFLICT");
      }
      expect(performance.now() - start).toBeLessThan(4_000);
    }),
    { numRuns: process.env.SCROLLBACK_DEEP === "1" ? 300 : 100 },
  );
  expect(await raw.ping()).toBe("PONG");
});
