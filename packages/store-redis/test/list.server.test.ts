import { randomUUID } from "node:crypto";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import type { StoreFactory, ThreadInfo } from "@scrollback/store-core";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRedisStores } from "../src/index.ts";
import { threadKeys } from "../src/keys.ts";
import { majors, opened } from "./clients.ts";
import { commandsOf } from "./count-commands.ts";
import { user } from "./messages.ts";

let server: RunningServer;
beforeAll(async () => {
  // A server of its own, because its statistics of commands are counted, and a listing scans all of its keys.
  server = await startServer("redis");
});
afterAll(() => server.stop());

interface Listing {
  readonly prefix?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

/** The threads of all pages. A page may be empty, because a step scans the keys of other tests too. */
async function threadsOf(stores: StoreFactory, options: Listing): Promise<ThreadInfo[]> {
  const threads: ThreadInfo[] = [];
  let cursor = options.cursor;
  do {
    const page = await stores.listThreads({ ...options, ...(cursor !== undefined && { cursor }) });
    expect(page.threads.length).toBeLessThanOrEqual(options.limit ?? 100);
    threads.push(...page.threads);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return threads;
}

/** The ids of all pages, each once. */
async function idsOf(stores: StoreFactory, options: Listing = {}): Promise<string[]> {
  const threads = await threadsOf(stores, options);
  return [...new Set(threads.map(({ threadId }) => threadId))].sort();
}

const hostileIds = String.raw`* a* a? a[b] [ ] [^a] \ \* a\ { } a}b % %7D %2525 - ^ é 😀 ab a`
  .split(" ")
  .concat("\0", "a b\n");

describe.each(majors)("with $major", ({ Redis }) => {
  test("C20 prefixes and names are literal text, also behind a client's own prefix", async () => {
    const client = opened(new Redis(server.url, { keyPrefix: "client*[a]\\" }));
    const keyPrefix = `${randomUUID()}*[a-z]?{\\`;
    const stores = createRedisStores({ client, keyPrefix });
    const others = createRedisStores({ client, keyPrefix: keyPrefix.replace("*", "x") });
    for (const id of hostileIds) await stores.open(id).addMessages([user(id)]);
    await others.open("a").addMessages([user("a")]);
    expect(await idsOf(stores)).toEqual(hostileIds.toSorted());
    for (const prefix of hostileIds) {
      const expected = hostileIds.filter((id) => id.startsWith(prefix)).sort();
      expect(await idsOf(stores, { prefix }), prefix).toEqual(expected);
    }
    expect(await idsOf(others)).toEqual(["a"]);
  });
});

function open() {
  const client = opened(new Redis(server.url));
  const keyPrefix = randomUUID();
  return { client, keyPrefix, stores: createRedisStores({ client, keyPrefix }) };
}

async function fill(stores: StoreFactory, count: number, name = "thread"): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => `${name} ${index}`);
  await Promise.all(ids.map((id) => stores.open(id).addMessages([user(id)])));
  return ids.sort();
}

test("a page is at most 10 scan steps and a read of each found thread, also among many foreign keys", async () => {
  const { client, stores } = open();
  await fill(open().stores, 3_000);
  await fill(stores, 30);
  let cursor: string | undefined;
  for (let pages = 0; pages === 0 || cursor !== undefined; pages++) {
    let found = 0;
    const commands = await commandsOf(client, async () => {
      const page = await stores.listThreads({ limit: 50, ...(cursor !== undefined && { cursor }) });
      [cursor, found] = [page.cursor, page.threads.length];
    });
    const { scan = 0, lrange = 0, hmget = 0, ...others } = commands;
    expect(scan).toBeLessThanOrEqual(10);
    expect([lrange, hmget]).toEqual([found, found]);
    expect(others).toEqual({});
  }
});

const more = process.env.SCROLLBACK_DEEP === "1" ? 4_000 : 1_500;

test("C20 a cursor stays valid while the server's tables grow and shrink, for pages of any size", async () => {
  const { client, stores, keyPrefix } = open();
  const ids = await fill(stores, 200);
  const { stores: others } = open();
  for (const limit of [1, 7, 60]) {
    const found = new Set<string>();
    let cursor: string | undefined;
    for (let page = 0; page === 0 || cursor !== undefined; page++) {
      const { threads, ...next } = await stores.listThreads({
        limit,
        ...(cursor !== undefined && { cursor }),
      });
      for (const { threadId } of threads) found.add(threadId);
      cursor = next.cursor;
      if (page === 3) await fill(others, more, "more");
      if (page === 9)
        await Promise.all(Array.from({ length: more }, (_, index) => others.deleteThread(`more ${index}`)));
    }
    expect([...found].sort(), `pages of ${limit}`).toEqual(ids);
  }
  expect(await client.exists(threadKeys(keyPrefix, "thread 1").messages)).toBe(1);
});

test("C20 a cursor of another server process, as after a restart, starts again", async () => {
  const { stores } = open();
  const ids = await fill(stores, 100);
  const { cursor = "" } = await stores.listThreads({ limit: 90 });
  const [topology, mark, , ...rest] = cursor.split(".");
  expect(rest).not.toEqual([]);
  const restarted = [topology, mark, "f".repeat(16), ...rest].join(".");
  expect((await idsOf(stores, { cursor })).length).toBeLessThan(100);
  expect(await idsOf(stores, { cursor: restarted })).toEqual(ids);
});

test("C20 an invalid cursor is rejected before anything is sent", async () => {
  const stores = createRedisStores({ url: "redis://127.0.0.1:1" });
  const mark = "0".repeat(16);
  for (const cursor of [
    "0",
    "{}",
    "a".repeat(5_000),
    `${mark}.${mark}.${mark}`,
    `${mark}.${mark}.${mark}.x`,
    `${mark}.${mark}.${mark}.99999999999999999999`,
    `${mark}.${mark}.${mark}.1.2`,
  ])
    await expect(stores.listThreads({ cursor }), cursor).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await stores.close();
});

test("C20 a listing ends early after much metadata, and reports damaged threads", async () => {
  const { client, stores, keyPrefix } = open();
  const metadata = "x".repeat(250_000);
  for (let index = 0; index < 150; index++) await stores.open(`large ${index}`).commit({ metadata });
  const first = await stores.listThreads({ limit: 1_000 });
  expect(first.threads.length).toBeLessThan(150);
  expect(await idsOf(stores, { limit: 1_000 })).toHaveLength(150);

  await stores.open("told").addMessages([user("a")]);
  await client.rpush(threadKeys(keyPrefix, "told-of-others").messages, "their own");
  await expect(idsOf(stores, { prefix: "told" })).rejects.toMatchObject({ code: "CORRUPT" });
  const reported: string[] = [];
  const tolerant = createRedisStores({
    client,
    keyPrefix,
    onCorruptRecord: ({ message }) => reported.push(message),
  });
  expect(await idsOf(tolerant, { prefix: "told" })).toEqual(["told"]);
  expect(reported).toEqual([expect.stringContaining("told-of-others")]);
});
