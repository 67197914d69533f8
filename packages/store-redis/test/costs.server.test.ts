import { randomUUID } from "node:crypto";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import type { ChatMessage, MessageStore } from "@scrollback/store-core";
import { REMEMBERED_MS, REMEMBERED_OPERATIONS } from "@scrollback/store-core/driver";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createRedisStores, type RedisStoreOptions } from "../src/index.ts";
import { threadKeys } from "../src/keys.ts";
import { opened } from "./clients.ts";
import { commandsOf } from "./count-commands.ts";
import { user, users } from "./messages.ts";

let server: RunningServer;
beforeAll(async () => {
  // A server of its own, because its statistics of commands are counted.
  server = await startServer("redis");
});
afterAll(() => server.stop());

const answer: ChatMessage = { role: "assistant", content: "…" };

function open(options: RedisStoreOptions = {}): { client: Redis; store: MessageStore; keyPrefix: string } {
  const client = opened(new Redis(server.url));
  const keyPrefix = randomUUID();
  return { client, keyPrefix, store: createRedisStores({ client, keyPrefix, ...options }).open("a") };
}

/** The commands of a commit in the steady state. A further command slows down every commit: avoid raising this. */
const APPEND = { evalsha: 1, lindex: 1, hmget: 1, hset: 1, ltrim: 1, rpush: 1 };

test("the number of commands of a commit is independent of the thread's length", async () => {
  const { client, store } = open({ maxMessages: 500 });
  await store.addMessages(users(2));
  expect(await commandsOf(client, () => store.addMessages(users(1)))).toEqual(APPEND);
  expect(await commandsOf(client, () => store.addMessages(users(400)))).toEqual(APPEND);
  await store.addMessages(users(200));
  // The leading message may be a system message, and the first message that fits may not be a user message. The commit checks
  // both, with one read if they are adjacent.
  expect(await commandsOf(client, () => store.addMessages(users(1)))).toEqual({ ...APPEND, lrange: 1 });
  expect(await commandsOf(client, () => store.addMessages(users(20)))).toEqual({ ...APPEND, lrange: 2 });
});

test("a commit after a pinned system message, a conditional one, one with metadata and one with expiry take few more commands", async () => {
  const pinned = open({ maxMessages: 10 });
  await pinned.store.addMessages([{ role: "system", content: "Be brief." }, ...users(9)]);
  await pinned.store.addMessages(users(1));
  const behind = await commandsOf(pinned.client, () => pinned.store.addMessages(users(1)));
  expect(behind).toEqual({ ...APPEND, ltrim: 2, lmove: 2, lrange: 1 });
  await pinned.store.commit({ drop: 5 });
  expect(await commandsOf(pinned.client, () => pinned.store.addMessages(users(1)))).toEqual(APPEND);

  const { client, store } = open();
  const expectedRevision = await store.addMessages(users(2), { operationId: "first" });
  const conditional = () => store.commit({ drop: 1, append: users(1) }, { expectedRevision });
  expect(await commandsOf(client, conditional)).toEqual(APPEND);
  const again = () => store.addMessages(users(2), { operationId: "first" });
  expect(await commandsOf(client, again)).toEqual({ evalsha: 1, lindex: 1, hmget: 1 });
  const withMetadata = () => store.commit({ append: users(1), metadata: "a" });
  expect(await commandsOf(client, withMetadata)).toEqual({ ...APPEND, hset: 2 });

  const expiring = open({ ttlMs: 60_000 });
  await expiring.store.addMessages(users(1));
  const renewed = await commandsOf(expiring.client, () => expiring.store.addMessages(users(1)));
  expect(renewed).toEqual({ ...APPEND, time: 1, pexpireat: 2 });
});

test("a commit that only removes takes one more command, as a script's first write must not need memory", async () => {
  const { client, store } = open();
  await store.addMessages(users(5));
  expect(await commandsOf(client, () => store.popMessage())).toMatchObject({ evalsha: 1, ltrim: 2, hset: 1 });
  expect(await commandsOf(client, () => store.clear())).toMatchObject({ evalsha: 1, ltrim: 1, hset: 1 });
});

test("a read of the newest messages is one plain command", async () => {
  const { client, store } = open();
  await store.addMessages(users(50));
  expect(await commandsOf(client, () => store.listMessages({ limit: 20 }))).toEqual({ lrange: 1 });
  expect(await commandsOf(client, () => store.listMessages())).toEqual({ lrange: 1 });
  expect(await commandsOf(client, () => store.read({ limit: 20 }))).toEqual({ lrange: 1, hmget: 1 });
});

test("trimming reads each message of a long turn once, not with every commit", async () => {
  const { client, store } = open({ maxMessages: 300 });
  await store.addMessages([user("go"), ...Array.from({ length: 299 }, () => answer)]);
  const first = await commandsOf(client, () => store.addMessages([answer]));
  const second = await commandsOf(client, () => store.addMessages([answer]));
  expect(first.lrange).toBeGreaterThan(8);
  expect(second.lrange).toBe(1);
  expect(await store.listMessages()).toHaveLength(300);
});

test("trimming behind a pinned system message does not write that message again", async () => {
  const { client, store } = open({ maxMessages: 10 });
  await store.addMessages([{ role: "system", content: "s".repeat(100_000) }, ...users(9)]);
  await store.addMessages(users(1));
  const monitor = opened(await client.monitor());
  let written = 0;
  monitor.on("monitor", (_time: string, args: string[]) => {
    written += args.join(" ").length;
  });
  for (let round = 0; round < 5; round++) await store.addMessages(users(1));
  await expect.poll(() => written).toBeGreaterThan(0);
  expect(written).toBeLessThan(50_000);
  expect((await store.listMessages())[0]).toMatchObject({ role: "system" });
});

test("only the kept messages of a batch longer than maxMessages are pushed", async () => {
  const { client, keyPrefix, store } = open({ maxMessages: 3 });
  const batch = users(20_000);
  expect((await commandsOf(client, () => store.addMessages(batch))).rpush).toBe(1);
  expect(await client.llen(threadKeys(keyPrefix, "a").messages)).toBe(4);
  expect(await store.listMessages()).toEqual(batch.slice(-3));
});

test("more messages than one command accepts are rejected before any I/O", async () => {
  await using stores = createRedisStores({ url: "redis://127.0.0.1:1" });
  const batch = Array.from({ length: 1_000_001 }, () => user("a"));
  await expect(stores.open().addMessages(batch)).rejects.toMatchObject({ code: "TOO_LARGE" });
});

test("the hash remembers operations while they can be sent again, and forgets them a few at a time", async () => {
  const { client, keyPrefix, store } = open();
  const { meta } = threadKeys(keyPrefix, "a");
  const write = (operationId: string) => store.addMessages([user("a")], { operationId });
  /** Simulates that all commits so far are old. */
  const wait = async (commits: number) =>
    await client.hset(meta, "marks", `${commits} ${Date.now() - REMEMBERED_MS - 1_000}`);
  const first = await write("first");
  for (let number = 2; number <= 96; number++) await write(`${number}`);
  // The revision, the marks, and where the search for old operations continues.
  expect(await client.hlen(meta)).toBe(96 + 3);
  expect(await write("first")).toBe(first);
  await wait(96);
  for (let number = 97; number <= 144; number++) await write(`${number}`);
  expect(await client.hlen(meta)).toBe(REMEMBERED_OPERATIONS + 3);
  expect(await write("first")).not.toBe(first);
});

const isDeep = process.env.SCROLLBACK_DEEP === "1";
const many = isDeep ? 5_000 : 1_000;

test.each([
  { hash: "that also has more new ones", old: many, young: 4 * many, most: 300, searches: isDeep ? 250 : 75 },
  { hash: "after a burst", old: 5_000, young: 0, most: 800, searches: 20 },
])(
  "a commit searches only a part of a large hash $hash for old operations, so that it does not block the server",
  async ({ old, young, most, searches }) => {
    const { client, keyPrefix, store } = open();
    const { meta } = threadKeys(keyPrefix, "a");
    const countOld = async () => (await client.hvals(meta)).filter((value) => value === "1 old").length;
    /** Makes the commits from one search to the next. */
    const search = async () => {
      for (let commit = 1; commit <= 48; commit++) await store.addMessages([user("a")]);
    };
    await search();
    await search();
    const operations = (count: number, value: string) =>
      Array.from({ length: count }, () => [`op:${randomUUID()}`, value]).flat();
    await client.hset(meta, ...operations(old, "1 old"), ...operations(young, "9999999 young"));
    // Beyond 64 bits, which the server refuses as a cursor.
    await client.hset(meta, "marks", `96 ${Date.now() - REMEMBERED_MS - 1_000}`, "cursor", "9".repeat(20));
    for (let left = await countOld(), searched = 1; left > 0; searched++) {
      await search();
      const before = left;
      left = await countOld();
      expect(before - left).toBeLessThan(most);
      expect(searched).toBeLessThan(searches);
    }
  },
);

test("the hash of a less busy thread stays within Redis's compact encoding", async () => {
  const { client, keyPrefix, store } = open();
  const { meta } = threadKeys(keyPrefix, "a");
  for (let round = 1; round <= 500; round++) {
    await store.addMessages([user("a")]);
    const marks = await client.hget(meta, "marks");
    // Simulates one second per commit.
    const earlier = marks?.replaceAll(
      /(\d+) (\d+)/g,
      (_, commit: string, at: string) => `${commit} ${Math.max(0, Number(at) - 1_000)}`,
    );
    if (earlier !== undefined) await client.hset(meta, "marks", earlier);
    expect(await client.hlen(meta)).toBeLessThanOrEqual(128);
  }
  expect(await client.call("OBJECT", "ENCODING", meta)).toBe("listpack");
});
