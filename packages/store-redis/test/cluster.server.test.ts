import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type RedisCluster, startRedisCluster } from "@scrollback/conformance/servers";
import type { Cluster } from "ioredis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRedisStores } from "../src/index.ts";
import { threadKeys } from "../src/keys.ts";
import { majors, opened } from "./clients.ts";
import { documentedRules } from "./documented-rules.ts";
import { user, users } from "./messages.ts";

let server: RedisCluster;
beforeAll(async () => {
  server = await startRedisCluster();
});
afterAll(() => server.stop());

const hostileIds = [
  "{",
  "}",
  "{}",
  "{a}",
  "a{b}c",
  "}{",
  "%7B",
  "{a}%",
  "*",
  "[a-z]?",
  "a b\n\0\t",
  "😀{😀}",
  "a:b",
  " ",
];

describe.each(majors)("a cluster with $major", ({ Cluster }) => {
  const connect = (options: ConstructorParameters<typeof Cluster>[1] = {}): Cluster =>
    opened(new Cluster(server.startupNodes, { natMap: server.natMap, ...options }));

  test("takes any thread id, and keeps a thread's keys in one slot", async () => {
    const client = connect();
    const keyPrefix = `{${randomUUID()}}%`;
    const stores = createRedisStores({ client, keyPrefix, maxMessages: 3, ttlMs: 600_000 });
    await Promise.all(
      hostileIds.map(async (id) => {
        const store = stores.open(id);
        await store.commit({ append: [{ role: "system", content: id }, ...users(2)], metadata: id });
        await store.addMessages([user(id)]);
      }),
    );
    const slots = new Set<number>();
    for (const id of hostileIds) {
      const { messages, meta } = threadKeys(keyPrefix, id);
      const slot = await client.cluster("KEYSLOT", messages);
      expect(await client.cluster("KEYSLOT", meta)).toBe(slot);
      slots.add(slot);
      const page = await stores.open(id).read();
      expect(page.entries.map(({ message }) => message.content)).toEqual([id, "2", id]);
      expect(page.metadata).toBe(id);
      expect((await stores.open(id).read({ before: page.newer ?? "", limit: 1 })).entries).toHaveLength(1);
    }
    expect(slots.size).toBeGreaterThan(hostileIds.length / 2);
  });

  test("connects with the first calls where it is lazy, many at once", async () => {
    const stores = createRedisStores({ client: connect({ lazyConnect: true }), keyPrefix: randomUUID() });
    const threads = Array.from({ length: 20 }, () => stores.open());
    await Promise.all(threads.map((store) => store.addMessages(users(2))));
    expect(await Promise.all(threads.map((store) => store.listMessages()))).toEqual(
      threads.map(() => users(2)),
    );
  });

  test("may have flushed script caches", async () => {
    const client = connect();
    const stores = createRedisStores({ client, keyPrefix: randomUUID() });
    const threads = Array.from({ length: 12 }, () => stores.open());
    await Promise.all(threads.map((store) => store.addMessages(users(1))));
    for (const node of client.nodes("master")) await node.script("FLUSH");
    await Promise.all(threads.map((store) => store.addMessages([user("2")])));
    expect(await Promise.all(threads.map((store) => store.listMessages()))).toEqual(
      threads.map(() => users(2)),
    );
  });

  test("is sent no pipelines, which ioredis can tear apart", async () => {
    const client = connect();
    client.pipeline = () => expect.unreachable("a pipeline was made");
    const store = createRedisStores({ client, keyPrefix: randomUUID() }).open();
    await store.commit({ append: users(3), metadata: "title" });
    expect(await store.listMessages()).toEqual(users(3));
    expect(await store.read({ limit: 2 })).toMatchObject({
      metadata: "title",
      entries: [{}, { sequence: 3 }],
    });
  });

  test("needs no more of the ACL than is documented", async () => {
    for (const node of server.nodes) {
      await node.cli(
        "ACL",
        "SETUSER",
        "agent",
        "reset",
        "on",
        ">secret",
        "~chats:*",
        ...documentedRules("cluster"),
      );
    }
    const client = connect({ redisOptions: { username: "agent", password: "secret" } });
    const stores = createRedisStores({ client, keyPrefix: "chats" });
    for (const store of Array.from({ length: 6 }, () => stores.open())) {
      await store.commit({ append: users(2), metadata: "title" });
      expect((await store.read()).metadata).toBe("title");
    }
  });

  test("loses and doubles nothing while a thread's slot moves to another node", async () => {
    const client = connect();
    const keyPrefix = randomUUID();
    const store = createRedisStores({ client, keyPrefix }).open();
    await store.commit({ append: [user("0")], metadata: "title" });
    let isDone = false;
    let written = 0;
    const writing = (async () => {
      for (; !isDone; written++) {
        await store.addMessages([user(String(written + 1))]);
        expect((await store.read({ limit: 1 })).metadata).toBe("title");
      }
    })();
    await sleep(50);
    await moveSlot(Object.values(threadKeys(keyPrefix, store.threadId)));
    const before = written;
    await expect.poll(() => written, { timeout: 10_000 }).toBeGreaterThan(before + 10);
    isDone = true;
    await writing;
    const texts = (await store.listMessages()).map(({ content }) => content);
    expect(texts).toEqual(Array.from({ length: written + 1 }, (_, index) => String(index)));
  });
});

/** Moves the slot of these keys to the next node, a key at a time, as a reshard does. */
async function moveSlot(keys: string[]): Promise<void> {
  const nodes = server.nodes.map(({ host, port }) => opened(new Redis({ host, port })));
  const slot = await (nodes[0] as Redis).cluster("KEYSLOT", keys[0] ?? "");
  const counts = await Promise.all(nodes.map((node) => node.cluster("COUNTKEYSINSLOT", slot)));
  const from = counts.findIndex((count) => count > 0);
  const to = (from + 1) % nodes.length;
  const [source, target] = [nodes[from] as Redis, nodes[to] as Redis];
  const [sourceId, targetId] = [await source.call("CLUSTER", "MYID"), await target.call("CLUSTER", "MYID")];
  const [host = "", port = ""] = server.nodes[to]?.innerAddress.split(":") ?? [];
  await target.call("CLUSTER", "SETSLOT", slot, "IMPORTING", String(sourceId));
  await source.call("CLUSTER", "SETSLOT", slot, "MIGRATING", String(targetId));
  for (const key of keys) {
    await sleep(100);
    await source.call("MIGRATE", host, port, key, 0, 5_000);
  }
  await sleep(100);
  for (const node of [target, source, ...nodes])
    await node.call("CLUSTER", "SETSLOT", slot, "NODE", String(targetId));
}
