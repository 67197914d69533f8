import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import { startRedisCluster } from "../../../conformance-tests/test/fixtures/redis-groups.ts";
import { createRedisStores } from "../src/index.ts";
import { majors, opened } from "./clients.ts";
import { user } from "./messages.ts";
import { primariesOf } from "./own-connection.ts";
import { beginMove, keysOf } from "./slot-move.ts";

describe.each(majors)("a cluster with $major", ({ Cluster }) => {
  test("C20 a thread is found on a primary that had no slots when the client connected", async () => {
    // Without this option, a primary without slots would become a replica.
    await using own = await startRedisCluster("redis", ["--cluster-allow-replica-migration", "no"]);
    const nodes = own.nodes.map(({ host, port }) => opened(new Redis({ host, port })));
    const [first, , last] = await Promise.all(nodes.map((node) => node.call("CLUSTER", "MYID")));
    // If two nodes claim a slot, the node with the higher epoch gets it. So a pending claim of the first node loses.
    await nodes[2]?.call("CLUSTER", "BUMPEPOCH");
    const epochs = async () =>
      await Promise.all(
        nodes.map(async (node) => {
          const lines = String(await node.cluster("NODES")).split("\n");
          return lines.find((line) => line.startsWith(String(last)))?.split(" ")[6];
        }),
      );
    await expect.poll(async () => new Set(await epochs()).size).toBe(1);
    const all = Array.from({ length: 16_384 }, (_, slot) => slot);
    const owners = String(await nodes[0]?.cluster("NODES")).split("\n");
    const [from = 0, to = 0] = (owners.find((line) => line.startsWith(String(first)))?.split(" ")[8] ?? "")
      .split("-")
      .map(Number);
    const give = (slot: number) =>
      nodes.map((node) => node.call("CLUSTER", "SETSLOT", slot, "NODE", String(last)));
    await Promise.all(all.slice(from, to + 1).flatMap(give));
    const client = opened(new Cluster([own.startupNodes[1] ?? ""], { natMap: own.natMap }));
    const keyPrefix = randomUUID();
    const stores = createRedisStores({ client, keyPrefix });
    const ids = Array.from({ length: 30 }, (_, index) => `thread ${index}`).sort();
    for (const id of ids) await stores.open(id).commit({ append: [user(id)], metadata: id });
    expect(primariesOf(client)).toHaveLength(2);
    const move = await beginMove(own, keysOf(keyPrefix, ids[7] ?? ""), own.nodes[0]?.port);
    await move.end();
    expect(client.nodes("master")).toHaveLength(2);
    const found: string[] = [];
    for await (const { threadId } of stores.iterateThreads()) found.push(threadId);
    expect(found.sort()).toEqual(ids);
  });
});
