import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster, Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import {
  type RedisCluster,
  startRedisCluster,
} from "../../../conformance-tests/test/fixtures/redis-groups.ts";
import { createRedisStores } from "../src/index.ts";
import { RedisDriver } from "../src/redis-driver.ts";
import { clientNames, majors, opened } from "./clients.ts";
import { clients } from "./connection.ts";
import { documentedRules } from "./documented-rules.ts";
import { user, users } from "./messages.ts";
import { ownOf } from "./own-connection.ts";
import { beginMove, keysOf } from "./slot-move.ts";

let server: RedisCluster;
beforeAll(async () => {
  server = await startRedisCluster();
});
afterAll(() => server.stop());

describe.each(majors)("a cluster with $major", ({ Cluster }) => {
  const connect = (options: ConstructorParameters<typeof Cluster>[1] = {}): Cluster =>
    opened(new Cluster(server.startupNodes, { natMap: server.natMap, ...options }));

  test("makes calls wait while it connects", async () => {
    const connection = ownOf(connect({ lazyConnect: true }));
    const { client } = connection;
    // A driver does not retry; the stores do.
    const driver = new RedisDriver(connection, randomUUID());
    const read = { limit: 1, before: undefined, after: undefined, metadata: false, signal: undefined };
    const reads = () =>
      Promise.all(Array.from({ length: 20 }, () => driver.read({ ...read, threadId: randomUUID() })));
    expect(await reads()).toHaveLength(20);
    client.disconnect(true);
    await once(client, "close");
    expect(await reads()).toHaveLength(20);
  });

  test("is sent no pipelines, which ioredis can tear apart", async () => {
    const client = connect();
    ownOf(client).client.pipeline = () => expect.unreachable("a pipeline was made");
    const store = createRedisStores({ client, keyPrefix: randomUUID() }).open();
    await store.commit({ append: users(3), metadata: "title" });
    expect(await store.listMessages()).toEqual(users(3));
    expect(await store.read({ limit: 2 })).toMatchObject({
      metadata: "title",
      entries: [{}, { sequence: 3 }],
    });
  });

  test("needs only the documented ACL permissions", async () => {
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
    const listed: string[] = [];
    for await (const { threadId } of stores.iterateThreads()) listed.push(threadId);
    expect(listed).toHaveLength(6);
    for (const id of listed) await stores.deleteThread(id);
  });

  test("needs no cached script on the node to which a thread's slot moves, at any moment", async () => {
    const client = connect();
    const keyPrefix = randomUUID();
    const store = createRedisStores({ client, keyPrefix }).open();
    await store.commit({ append: [user("0")], metadata: "title" });
    let written = 0;
    const useWithoutScripts = async (node: Redis) => {
      for (let round = 0; round < 20; round++) {
        await node.script("FLUSH");
        expect((await store.read({ limit: 1 })).metadata).toBe("title");
        await node.script("FLUSH");
        await store.addMessages([user(String(++written))]);
      }
    };
    const move = await beginMove(server, keysOf(keyPrefix, store.threadId));
    // A client with an outdated slot table sends requests to random nodes. The target node refuses them until it owns the slot.
    // So the client assumes that this node knows a script which it has never run.
    Reflect.set(client, "refreshSlotsCache", (done?: () => void) => done?.());
    const [first, ...others] = move.keys;
    await move.migrate(first ?? "");
    const reads = Array.from({ length: 10 }, () => store.read());
    await sleep(500);
    for (const key of others) await move.migrate(key);
    await Promise.all(reads);
    await useWithoutScripts(move.target);
    await move.end();
    await useWithoutScripts(move.target);
    const texts = (await store.listMessages()).map(({ content }) => content);
    expect(texts).toEqual(Array.from({ length: written + 1 }, (_, index) => String(index)));
  });
});

describe.each(clientNames)("a cluster with %s", (name) => {
  test("loses and doubles nothing while a thread's slot moves to another node", async () => {
    const { client, close } = clients[name].at(server);
    onTestFinished(close);
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
    const move = await beginMove(server, keysOf(keyPrefix, store.threadId));
    for (const key of move.keys) {
      await sleep(100);
      await move.migrate(key);
    }
    await sleep(100);
    await move.end();
    const before = written;
    await expect.poll(() => written).toBeGreaterThan(before + 10);
    isDone = true;
    await writing;
    const texts = (await store.listMessages()).map(({ content }) => content);
    expect(texts).toEqual(Array.from({ length: written + 1 }, (_, index) => String(index)));
  });

  test("C20 all threads of all nodes are listed", async () => {
    const { client, close } = clients[name].at(server);
    onTestFinished(close);
    const stores = createRedisStores({ client, keyPrefix: randomUUID() });
    const ids = Array.from({ length: 30 }, (_, index) => `thread ${index}`).sort();
    for (const id of ids) await stores.open(id).commit({ append: [user(id)], metadata: id });
    const found = new Set<string>();
    for await (const { threadId } of stores.iterateThreads()) found.add(threadId);
    expect([...found].sort()).toEqual(ids);
  });
});
