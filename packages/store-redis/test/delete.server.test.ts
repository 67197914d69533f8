import { randomUUID } from "node:crypto";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import {
  type CommitRequest,
  createStores,
  type DeleteRequest,
  REMEMBERED_MS,
} from "@scrollback/store-core/driver";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { threadKeys } from "../src/keys.ts";
import { RedisDriver } from "../src/redis-driver.ts";
import { opened } from "./clients.ts";
import { commandsOf } from "./count-commands.ts";
import { user, users } from "./messages.ts";
import { ownOf } from "./own-connection.ts";

let server: RunningServer;
beforeAll(async () => {
  // A server of its own, because its statistics of commands are counted, scripts are flushed, and its memory is limited.
  server = await startServer("redis");
});
afterAll(() => server.stop());

function open() {
  const client = opened(new Redis(server.url));
  const connection = ownOf(client);
  const keyPrefix = randomUUID();
  const driver = new RedisDriver(connection, keyPrefix);
  const commit = (operationId: string, changes: Partial<CommitRequest> = {}) =>
    driver.commit({
      threadId: "a",
      operationId,
      digest: "digest-of-22-character",
      newIncarnation: `incarnation-${operationId}`,
      expectedRevision: undefined,
      drop: 0,
      append: [{ kind: "u", createdAt: 1, text: `{"role":"user","content":"${operationId}"}` }],
      metadata: undefined,
      maxMessages: undefined,
      trimming: "turns",
      ttlMs: undefined,
      createdAt: 1_795_348_800_000,
      updatedAt: 1_795_348_800_000,
      signal: undefined,
      ...changes,
    });
  const remove = (operationId: string, expectedRevision?: DeleteRequest["expectedRevision"]) =>
    driver.delete({ threadId: "a", operationId, expectedRevision, signal: undefined });
  const keys = threadKeys(keyPrefix, "a");
  /** Simulates that all deletions were made 11 seconds before, and that the key has not expired. */
  const makeOld = async () => {
    for (const [field, value] of Object.entries(await client.hgetall(keys.deleted))) {
      const earlier = value.replace(/\b\d{13}$/, (at) => String(Number(at) - REMEMBERED_MS - 1_000));
      await client.hset(keys.deleted, field, earlier);
    }
  };
  return { client, driver, stores: createStores(driver), commit, remove, keyPrefix, keys, makeOld };
}

/** The cost of a deletion. */
const DELETE = {
  evalsha: 1,
  hmget: 3,
  exists: 1,
  lindex: 1,
  time: 1,
  rename: 1,
  unlink: 2,
  hdel: 2,
  hset: 1,
  pexpireat: 2,
};

test("C21 a deletion is one script with the same commands at any length, and leaves one key without content for 10 seconds", async () => {
  const { client, stores, keyPrefix, keys } = open();
  await stores.deleteThread("other");
  await stores
    .open("a")
    .commit({ append: users(100_000), metadata: "a private title" }, { operationId: "first" });
  expect(await commandsOf(client, () => stores.deleteThread("a"))).toEqual(DELETE);
  expect(await client.keys(`${keyPrefix}:{a}:*`)).toEqual([keys.deleted]);
  const left = await client.hgetall(keys.deleted);
  expect(Object.keys(left).sort()).toEqual([
    "at",
    expect.stringMatching(/^delete:/),
    "first",
    "op:first",
    "revision",
  ]);
  expect(Object.values(left).join()).not.toContain("private");
  const life = await client.pttl(keys.deleted);
  expect(life).toBeGreaterThan(REMEMBERED_MS - 2_000);
  expect(life).toBeLessThanOrEqual(REMEMBERED_MS);
  expect(await client.pttl(`${keyPrefix}:{other}:deleted`)).toBeLessThanOrEqual(REMEMBERED_MS);
});

test("C21 a commit retried after the deletion of its thread is recognised, also if a new thread has the id", async () => {
  const { commit, remove, driver, makeOld } = open();
  const read = {
    threadId: "a",
    limit: 9,
    before: undefined,
    after: undefined,
    metadata: false,
    signal: undefined,
  };
  await commit("one");
  await commit("two");
  await remove("delete-1");
  const known = { outcome: "repeated", revision: "incarnation-one.2" };
  expect(await commit("two")).toEqual(known);
  expect(await commit("two", { digest: "another" })).toEqual({
    outcome: "operation-conflict",
    revision: null,
  });
  expect(await driver.read(read)).toMatchObject({ revision: null });
  await commit("three");
  expect(await commit("two")).toEqual(known);
  expect(await commit("two", { digest: "another" })).toMatchObject({ revision: "incarnation-three.1" });
  await remove("delete-2");
  expect(await commit("two")).toEqual(known);
  expect(await commit("three")).toEqual({ outcome: "repeated", revision: "incarnation-three.1" });
  await commit("four");
  expect(await driver.read(read)).toMatchObject({ revision: "incarnation-four.1", count: 1 });
  expect(await commit("two")).toEqual(known);
  expect(await commit("four")).toEqual({ outcome: "repeated", revision: "incarnation-four.1" });
  await makeOld();
  expect(await commit("two")).toEqual({ outcome: "committed", revision: "incarnation-four.2" });
  expect(await commit("two")).toEqual({ outcome: "repeated", revision: "incarnation-four.2" });
  expect(await commit("four", { digest: "another" })).toMatchObject({ outcome: "operation-conflict" });
});

test("a thread created after a deletion reads the remembered outcomes for 10 seconds, and later costs the same as others", async () => {
  const { client, commit, remove, keys } = open();
  const append = { evalsha: 1, lindex: 1, hmget: 1, hset: 1, ltrim: 1, rpush: 1 };
  await commit("one");
  expect(await commandsOf(client, () => commit("two"))).toEqual(append);
  await remove("delete");
  await commit("three");
  const asking = { ...append, hmget: 3, time: 1 };
  expect(await commandsOf(client, () => commit("four"))).toEqual(asking);
  const footer = (await client.lindex(keys.messages, -1)) ?? "";
  const earlier = footer.replace(/(\d+)$/, (at) => String(Number(at) - REMEMBERED_MS));
  expect(earlier).not.toBe(footer);
  await client.lset(keys.messages, -1, earlier);
  expect(await commandsOf(client, () => commit("five"))).toEqual({ ...append, time: 1 });
  expect(await commandsOf(client, () => commit("six"))).toEqual(append);
});

test("C21 a deletion runs the same commands, however many operations the thread and deleted ones remember", async () => {
  const { client, commit, remove, keys } = open();
  const operations = Array.from({ length: 50_000 }, (_, index) => [`op:${index}`, "1 own"]);
  await commit("first");
  await client.hset(keys.meta, ...operations.flat());
  expect(await commandsOf(client, () => remove("delete-1"))).toEqual(DELETE);
  await commit("second");
  const { exists, ...begun } = DELETE;
  const { rename, hdel, ...others } = begun;
  const copying = { ...others, unlink: 1, pexpireat: 1, hgetall: 1 };
  expect(await commandsOf(client, () => remove("delete-2"))).toEqual(copying);
  expect(await commit("49999", { digest: "own" })).toEqual({
    outcome: "repeated",
    revision: "incarnation-first.1",
  });
  await client.hset(keys.deleted, "first", Date.now() - REMEMBERED_MS - 1_000);
  await commit("third");
  expect(await commandsOf(client, () => remove("delete-3"))).toEqual({ ...begun, rename: 2 });
  expect(await client.hlen(keys.deleted)).toBeLessThan(10);
  expect(await client.hlen(keys.deletedBefore)).toBeGreaterThan(50_000);
  expect(await client.pttl(keys.deletedBefore)).toBeGreaterThan(0);
  expect(await commit("49999", { digest: "own" })).toMatchObject({ outcome: "committed" });
});

test("C21 outcomes are remembered for 10 seconds, however often the thread is deleted meanwhile", async () => {
  const { client, commit, remove, keys } = open();
  await commit("one");
  await remove("delete-1");
  await commit("two");
  await remove("delete-2");
  // Simulates that the first deletion, but not the second one, was made more than 10 seconds before.
  await client.hset(keys.deleted, "first", Date.now() - REMEMBERED_MS - 1_000);
  await commit("three");
  await remove("delete-3");
  const known = { outcome: "repeated", revision: "incarnation-two.1" };
  for (let retry = 1; retry <= 2; retry++) {
    expect(await commit("two")).toEqual(known);
    expect(await commit("three")).toEqual({ outcome: "repeated", revision: "incarnation-three.1" });
    expect(await remove("delete-2")).toEqual({ outcome: "repeated" });
    expect(await remove("delete-3")).toEqual({ outcome: "repeated" });
    await commit("four");
  }
  expect(await commit("one")).toMatchObject({ outcome: "committed" });
});

test("C4 a request is not repeated when the first attempt may be forgotten", async () => {
  const { client, commit, driver, keys } = open();
  const late = { sendBefore: performance.now() - 1 };
  const refusal = { code: "UNAVAILABLE", retryable: true, message: expect.stringContaining("unknown") };
  await expect(commit("one", late)).rejects.toMatchObject(refusal);
  expect(await client.exists(keys.messages)).toBe(0);
  await commit("two");
  const deletion = { threadId: "a", operationId: "delete", expectedRevision: undefined, signal: undefined };
  await expect(driver.delete({ ...deletion, ...late })).rejects.toMatchObject(refusal);
  expect(await client.exists(keys.messages)).toBe(1);
  // Nor is the text of a script sent late, after the server did not know its digest.
  await client.script("FLUSH");
  const { client: used } = ownOf(client);
  const { call } = used;
  used.call = async (...sent: unknown[]) => {
    const reply = Reflect.apply(call, used, sent) as Promise<unknown>;
    await Promise.allSettled([reply, new Promise((resolve) => setTimeout(resolve, 200))]);
    return await reply;
  };
  await expect(commit("three", { sendBefore: performance.now() + 100 })).rejects.toMatchObject(refusal);
  used.call = call;
  expect(await client.llen(keys.messages)).toBe(2);
  expect(await commit("three", { sendBefore: performance.now() + 1_000 })).toMatchObject({
    outcome: "committed",
  });
});

test("C21 what is remembered of a thread that is deleted repeatedly stays bounded", async () => {
  const { client, commit, remove, keys, makeOld } = open();
  for (let cycle = 1; cycle <= 300; cycle++) {
    await commit(`commit-${cycle}`);
    await remove(`delete ${cycle}`);
    if (cycle % 30 === 0) await makeOld();
    for (const key of [keys.deleted, keys.deletedBefore])
      expect(await client.hlen(key)).toBeLessThanOrEqual(2 * 31 + 4);
  }
  for (const known of ["commit-300", "commit-272"])
    expect(await commit(known)).toMatchObject({ outcome: "committed" });
});

test("C21 damage does not protect a thread from deletion, and nothing of it comes back", async () => {
  const { client, stores, keyPrefix, keys } = open();
  const store = stores.open("a");
  const damages: Record<string, () => Promise<unknown>> = {
    "the hash is gone": () => client.unlink(keys.meta),
    "the list is gone": () => client.unlink(keys.messages),
    "the footer is damaged": () => client.lset(keys.messages, -1, "thread 1 x"),
  };
  for (const [what, damage] of Object.entries(damages)) {
    await store.commit({ append: users(3), metadata: "a private title" });
    await damage();
    await stores.deleteThread("a");
    const left = await client.keys(`${keyPrefix}:{a}:*`);
    expect(left.includes(keys.messages) || left.includes(keys.meta), what).toBe(false);
    for (const key of left) expect(JSON.stringify(await client.hgetall(key)), what).not.toContain("private");
    await store.addMessages([user("new")], { expectedRevision: null });
    const page = await store.read();
    expect(
      page.entries.map(({ message }) => message),
      what,
    ).toEqual([user("new")]);
    expect(page.metadata, what).toBeUndefined();
    await stores.deleteThread("a");
  }
  await store.addMessages([user("a")]);
  await client.lset(keys.messages, -1, "damaged");
  await expect(stores.deleteThread("a", { expectedRevision: null })).rejects.toMatchObject({
    code: "CORRUPT",
  });
});

test("a thread that lost its hash is deleted; keys of other programs and of newer formats are not changed", async () => {
  const { client, stores, keys } = open();
  await stores.open("a").commit({ append: [user("a")], metadata: "title" });
  await client.unlink(keys.meta);
  await stores.deleteThread("a");
  expect(await client.exists(keys.messages)).toBe(0);
  await client.rpush(keys.messages, "their own", "thread 2 of the future");
  await expect(stores.deleteThread("a")).rejects.toMatchObject({ code: "UNSUPPORTED" });
  await client.rpush(keys.messages, "their own");
  await expect(stores.deleteThread("a")).rejects.toMatchObject({ code: "CORRUPT" });
  expect(await client.llen(keys.messages)).toBe(3);
  await client.set(keys.messages, "their own");
  await expect(stores.deleteThread("a")).rejects.toMatchObject({ code: "CORRUPT" });
  await client.unlink(keys.messages);
  for (const plant of [
    () => client.set(keys.deleted, "their"),
    () => client.hset(keys.deleted, "their", 1),
  ]) {
    await plant();
    await expect(stores.deleteThread("a")).rejects.toMatchObject({ code: "CORRUPT" });
    await client.unlink(keys.deleted);
  }
  await client.hset(keys.meta, "their", "own");
  await expect(stores.deleteThread("a")).rejects.toMatchObject({ code: "CORRUPT" });
  expect(await client.hgetall(keys.meta)).toEqual({ their: "own" });
});
