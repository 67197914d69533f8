import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { test, vi } from "vitest";
import { underLoad } from "../../../conformance-tests/src/faults/load.ts";
import {
  startRedisCluster,
  startRedisSentinel,
} from "../../../conformance-tests/test/fixtures/redis-groups.ts";
import { RedisDriver } from "../src/redis-driver.ts";
import { opened } from "./clients.ts";
import { redisClusterHarnesses } from "./harness.ts";
import { ownOf } from "./own-connection.ts";

vi.setConfig({ testTimeout: 120_000 });

const primaryLost = { title: "primary lost, its replica takes over", backend: "Redis Sentinel" };

// Replication is asynchronous: writes that the replica has not received are lost, even if acknowledged. All other promises
// must hold.
test(`${primaryLost.backend}: ${primaryLost.title}`, { meta: { fault: primaryLost } }, async ({ task }) => {
  await using server = await startRedisSentinel();
  const keyPrefix = randomUUID();
  const connect = () => {
    const options = { ...server.connection, connectTimeout: 1_000, commandTimeout: 4_000 };
    const client = opened(new Redis({ ...options, maxRetriesPerRequest: 0, enableOfflineQueue: false }));
    return new RedisDriver(ownOf(client), keyPrefix);
  };
  const figure = await underLoad(
    async () => {
      await (await server.master()).kill();
    },
    { clients: [connect(), connect(), connect()], sound: connect(), mayLose: true },
  );
  const { product, version } = server;
  task.meta.fault = { ...primaryLost, server: { product, version }, figure };
});

const nodeLost = { title: "a node lost and back", backend: "Redis Cluster" };

test(`${nodeLost.backend}: ${nodeLost.title}`, { meta: { fault: nodeLost } }, async ({ task }) => {
  // The nodes acknowledge a write after writing it to disk.
  const starting = startRedisCluster("redis", ["--appendonly", "yes", "--appendfsync", "always"]);
  await using server = await starting;
  const harness = await redisClusterHarnesses(starting)();
  const clients = Array.from({ length: 3 }, () => harness.connect?.() ?? harness.driver);
  const figure = await underLoad(
    async () => {
      // One of the nodes stores the thread.
      for (const node of server.nodes) {
        await node.kill();
        await sleep(300);
        await node.start();
        await server.untilWhole();
        await sleep(200);
      }
    },
    { clients, sound: harness.driver },
  );
  for (const client of clients) await client.close();
  await harness.close();
  task.meta.fault = { ...nodeLost, server: harness.server, figure };
});
