import { randomUUID } from "node:crypto";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import {
  type CommitRequest,
  MemoryDriver,
  type MessageRecord,
  type ReadRequest,
} from "@scrollback/store-core/driver";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRedisStores } from "../src/index.ts";
import { threadKeys } from "../src/keys.ts";
import { RedisDriver } from "../src/redis-driver.ts";
import { majors, opened, serverNames } from "./clients.ts";
import { user, users } from "./messages.ts";
import { ownOf } from "./own-connection.ts";

const message = (kind: MessageRecord["kind"], text = "{}", createdAt = 1_000) => ({ kind, createdAt, text });
describe.each(serverNames)("%s", (name) => {
  let server: RunningServer;
  beforeAll(async () => {
    // A server of its own, because scripts are flushed, its memory is limited, and it becomes a replica.
    server = await startServer(name);
  });
  afterAll(() => server.stop());

  describe.each(majors)("with $major", ({ Redis }) => {
    const connect = (): Redis => opened(new Redis(server.url));
    const fresh = () => ({ client: connect(), keyPrefix: randomUUID() });

    test.each(["o", "t"] as const)("trimming reads reused sequence numbers again (%s)", async (kind) => {
      const both = [new RedisDriver(ownOf(fresh().client), randomUUID()), new MemoryDriver()];
      const steps = [
        { append: (["o", "o", "o", kind, kind, kind] as const).map((one) => message(one)) },
        { drop: 2, append: [message(kind === "o" ? "u" : "o"), message(kind), message(kind)] },
      ];
      for (const [index, step] of steps.entries()) {
        const request = { ...nothing, operationId: `operation ${index}`, maxMessages: 4, ...step };
        for (const driver of both) await driver.commit(request);
      }
      const [redis, memory] = await Promise.all(both.map((driver) => driver.read(everything)));
      expect(memory).toMatchObject({ first: 5, last: 7 });
      expect(redis).toEqual(memory);
    });

    test("a key of another type is refused and not changed", async () => {
      const { client, keyPrefix } = fresh();
      const store = createRedisStores({ client, keyPrefix }).open();
      const { messages, meta } = threadKeys(keyPrefix, store.threadId);
      for (const foreign of [messages, meta]) {
        await client.set(foreign, "theirs");
        const refusal = { code: "CORRUPT", message: expect.stringContaining("keyPrefix") };
        await expect(store.addMessages([user("a")])).rejects.toMatchObject(refusal);
        await expect(store.clear()).rejects.toMatchObject(refusal);
        if (foreign === messages) await expect(store.listMessages()).rejects.toMatchObject(refusal);
        expect(await client.get(foreign)).toBe("theirs");
        expect(await client.exists(messages, meta)).toBe(1);
        await client.del(foreign);
      }
      await client.rpush(messages, "theirs");
      await expect(store.addMessages([user("a")])).rejects.toMatchObject({ code: "CORRUPT" });
      expect(await client.lrange(messages, 0, -1)).toEqual(["theirs"]);
      await client.del(messages);
      await client.hset(meta, "their", "field");
      await expect(store.addMessages([user("a")])).rejects.toMatchObject({ code: "CORRUPT" });
      expect(await client.hgetall(meta)).toEqual({ their: "field" });
    });

    test("a thread of a newer format is refused and not changed", async () => {
      const { client, keyPrefix } = fresh();
      const store = createRedisStores({ client, keyPrefix }).open();
      await store.addMessages([user("a")]);
      const { messages } = threadKeys(keyPrefix, store.threadId);
      await client.lset(messages, -1, "thread 2 of a kind that is not known yet");
      const before = await client.lrange(messages, 0, -1);
      const refusal = {
        code: "UNSUPPORTED",
        message: expect.stringContaining("upgrade @scrollback/store-redis"),
      };
      for (const call of [
        () => store.addMessages([user("b")]),
        () => store.clear(),
        () => store.listMessages(),
        () => store.read(),
        () => store.popMessage(),
      ]) {
        await expect(call()).rejects.toMatchObject(refusal);
      }
      expect(await client.lrange(messages, 0, -1)).toEqual(before);
    });

    test("reading a thread that lost its hash reports it, and clear repairs it", async () => {
      const { client, keyPrefix } = fresh();
      const store = createRedisStores({ client, keyPrefix }).open();
      await store.commit({ append: [user("a")], metadata: { title: "lost" } });
      await client.del(threadKeys(keyPrefix, store.threadId).meta);
      const refusal = { code: "CORRUPT", message: expect.stringContaining("maxmemory-policy") };
      await expect(store.addMessages([user("b")])).rejects.toMatchObject(refusal);
      await expect(store.read()).rejects.toMatchObject(refusal);
      expect(await store.listMessages()).toEqual([user("a")]);
      await store.clear();
      await store.addMessages([user("c")]);
      expect((await store.read()).entries).toMatchObject([{ message: user("c") }]);
    });

    test("a thread that lost its list starts empty, without the remembered operations of its hash", async () => {
      const { client, keyPrefix } = fresh();
      const store = createRedisStores({ client, keyPrefix }).open();
      await store.commit({ append: [user("a")], metadata: { title: "lost" } }, { operationId: "once" });
      await client.del(threadKeys(keyPrefix, store.threadId).messages);
      expect(await store.read()).toEqual({ entries: [], revision: null, count: 0 });
      await store.addMessages([user("b")], { operationId: "once", expectedRevision: null });
      const page = await store.read();
      expect(page).toMatchObject({ entries: [{ sequence: 1, message: user("b") }] });
      expect(page).not.toHaveProperty("metadata");
    });

    test("at the memory limit appends fail, and calls that free memory succeed", async () => {
      const { client, keyPrefix } = fresh();
      const stores = createRedisStores({ client, keyPrefix, maxMessages: 3 });
      const store = stores.open();
      await store.addMessages(users(3));
      const before = await store.read();
      await client.config("SET", "maxmemory", "100kb");
      try {
        const refusal = {
          code: "UNAVAILABLE",
          retryable: false,
          message: expect.stringContaining("maxmemory"),
        };
        await expect(store.addMessages([user("4")])).rejects.toMatchObject(refusal);
        await expect(store.commit({ metadata: "title" })).rejects.toMatchObject(refusal);
        await expect(store.replaceMessages([user("4")])).rejects.toMatchObject(refusal);
        expect(await store.read()).toEqual(before);
        expect(await store.popMessage()).toEqual(user("3"));
        await store.clear();
        await stores.deleteThread(store.threadId);
        expect((await store.read()).revision).toBeNull();
      } finally {
        await client.config("SET", "maxmemory", "0");
      }
      await store.addMessages([user("4")]);
      expect(await store.listMessages()).toEqual([user("4")]);
    });

    test("the expiry is set on both keys together, to the same millisecond, and removed from both", async () => {
      const { client, keyPrefix } = fresh();
      const [expiring, lasting] = [
        createRedisStores({ client, keyPrefix, ttlMs: 60_000 }),
        createRedisStores({ client, keyPrefix }),
      ];
      const { messages, meta } = threadKeys(keyPrefix, "a");
      const left = async () => [await client.pttl(messages), await client.pttl(meta)];
      await expiring.open("a").addMessages(users(2));
      const [listLeft = 0, hashLeft = 0] = await left();
      expect(listLeft).toBeGreaterThan(50_000);
      expect(Math.abs(listLeft - hashLeft)).toBeLessThan(1_000);
      if (name !== "redis-6.2")
        expect(await client.pexpiretime(messages)).toBe(await client.pexpiretime(meta));
      await lasting.open("a").clear();
      expect(await left()).toEqual([-1, -1]);
      await expiring.open("a").clear();
      expect(Math.min(...(await left()))).toBeGreaterThan(50_000);
      await lasting.open("a").addMessages([user("kept")]);
      expect(await left()).toEqual([-1, -1]);
    });
  });
});

const nothing: CommitRequest = {
  threadId: "a",
  operationId: "operation",
  digest: "digest",
  newIncarnation: "incarnation",
  expectedRevision: undefined,
  drop: 0,
  append: [],
  metadata: undefined,
  maxMessages: undefined,
  trimming: "turns",
  ttlMs: undefined,
  createdAt: 1_795_348_800_000,
  updatedAt: 1_795_348_800_000,
  signal: undefined,
};
const everything: ReadRequest = {
  threadId: "a",
  limit: Number.POSITIVE_INFINITY,
  before: undefined,
  after: undefined,
  metadata: false,
  signal: undefined,
};
