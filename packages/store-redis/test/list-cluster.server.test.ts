import { randomUUID } from "node:crypto";
import type { StoreFactory } from "@scrollback/store-core";
import type { Cluster } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type RedisCluster,
  startRedisCluster,
} from "../../../conformance-tests/test/fixtures/redis-groups.ts";
import { createRedisStores } from "../src/index.ts";
import { threadKeys } from "../src/keys.ts";
import { majors, opened } from "./clients.ts";
import { user } from "./messages.ts";
import { primariesOf } from "./own-connection.ts";
import { beginMove, keysOf } from "./slot-move.ts";

let server: RedisCluster;
beforeAll(async () => {
  server = await startRedisCluster();
});
afterAll(() => server.stop());

describe.each(majors)("a cluster with $major", ({ Cluster }) => {
  async function fill(): Promise<{
    client: Cluster;
    keyPrefix: string;
    stores: StoreFactory;
    ids: string[];
  }> {
    const client = opened(new Cluster(server.startupNodes, { natMap: server.natMap }));
    const keyPrefix = randomUUID();
    const stores = createRedisStores({ client, keyPrefix });
    // The ids determine the slots, so each test needs other ids.
    const ids = Array.from({ length: 120 }, (_, index) => `${randomUUID()} ${index}`).sort();
    await Promise.all(ids.map((id) => stores.open(id).commit({ append: [user(id)], metadata: id })));
    return { client, keyPrefix, stores, ids };
  }

  /** The listed threads and the number of pages. `between` is called with each cursor. */
  async function list(
    stores: StoreFactory,
    between: (cursor: string, found: Set<string>) => unknown = () => {},
  ) {
    const found = new Set<string>();
    let pages = 0;
    for (let cursor: string | undefined; pages === 0 || cursor !== undefined; pages++) {
      expect(pages).toBeLessThan(1_000);
      const page = await stores.listThreads({ limit: 10, ...(cursor !== undefined && { cursor }) });
      for (const { threadId, metadata } of page.threads) {
        expect(metadata).toBe(threadId);
        found.add(threadId);
      }
      cursor = page.cursor;
      if (cursor !== undefined) await between(cursor, found);
    }
    return { found: [...found].sort(), pages };
  }

  /** A thread on the server that is scanned last. */
  async function lastThread({
    client,
    keyPrefix,
    ids,
  }: {
    client: Cluster;
    keyPrefix: string;
    ids: string[];
  }) {
    const servers = primariesOf(client);
    const [first, last] = [servers[0], servers.at(-1)];
    for (const id of ids) {
      if (await last?.client.exists(threadKeys(keyPrefix, id).messages).catch(() => 0))
        return { id, first, port: first?.client.options.port ?? 0 };
    }
    return expect.unreachable("the last server has no thread");
  }

  test("C20 all servers are listed, one after the other, by any client", async () => {
    const { stores, keyPrefix, ids } = await fill();
    expect((await list(stores)).found).toEqual(ids);
    const client = opened(new Cluster(server.startupNodes, { natMap: server.natMap, lazyConnect: true }));
    expect((await list(createRedisStores({ client, keyPrefix }))).found).toEqual(ids);
  });

  test("C20 a thread that moves to a server that has been listed is found", async () => {
    const filled = await fill();
    const { id, first, port } = await lastThread(filled);
    let isMoved = false;
    const { found } = await list(filled.stores, async (cursor, found) => {
      if (isMoved || cursor.split(".")[1] === first?.mark) return;
      isMoved = true;
      expect(found).not.toContain(id);
      const move = await beginMove(server, keysOf(filled.keyPrefix, id), port);
      await move.end();
    });
    expect(isMoved).toBe(true);
    expect(found).toEqual(filled.ids);
  });

  test("C20 a thread whose slot moves during the whole listing is found, and the listing ends", async () => {
    const filled = await fill();
    const { id, first, port } = await lastThread(filled);
    const move = await beginMove(server, keysOf(filled.keyPrefix, id), port);
    let isMoved = false;
    const { found } = await list(filled.stores, async (cursor, found) => {
      if (isMoved || cursor.split(".")[1] === first?.mark) return;
      isMoved = true;
      expect(found).not.toContain(id);
      for (const key of move.keys) await move.migrate(key);
    });
    expect(isMoved).toBe(true);
    expect(found).toEqual(filled.ids);
    await move.end();
    expect((await list(filled.stores)).found).toEqual(filled.ids);
  });

  test("C20 the cursor of a server that left the cluster continues with the other servers", async () => {
    const { stores, ids } = await fill();
    const { cursor = "" } = await stores.listThreads({ limit: 10 });
    const left = [cursor.split(".")[0], "f".repeat(16), ...cursor.split(".").slice(2)].join(".");
    await expect(stores.listThreads({ cursor: left })).resolves.toMatchObject({ threads: [] });
    // After a server has left, the other servers own its slots.
    const taken = ["e".repeat(16), ...left.split(".").slice(1)].join(".");
    const found = new Set<string>();
    for (let next: string | undefined = taken; next !== undefined; ) {
      const page = await stores.listThreads({ limit: 10, cursor: next });
      for (const { threadId } of page.threads) found.add(threadId);
      next = page.cursor;
    }
    expect([...found].sort()).toEqual(ids);
  });

  test("C21 a deletion is rejected while a part of the thread's slot is on another server, and succeeds after the move", async () => {
    const { stores, keyPrefix, ids } = await fill();
    const id = ids[0] ?? "";
    const move = await beginMove(server, keysOf(keyPrefix, id));
    const deleting = stores.deleteThread(id);
    for (const key of move.keys) await move.migrate(key);
    await move.end();
    await deleting;
    expect(await stores.open(id).listMessages()).toEqual([]);
    await stores.open(id).commit({ append: [user("anew")], metadata: id });
    expect((await list(stores)).found).toEqual(ids);
  });
});
