import { runConformance } from "@scrollback/conformance";
import { afterAll } from "vitest";
import { startRedisCluster } from "../../../conformance-tests/test/fixtures/redis-groups.ts";
import { redisClusterHarnesses } from "./harness.ts";

const cluster = startRedisCluster();
afterAll(async () => (await cluster).stop());

for (const client of ["ioredis 5", "iovalkey", "node-redis 6", "node-redis 5"] as const)
  runConformance({ name: `Redis Cluster, ${client}`, createHarness: redisClusterHarnesses(cluster, client) });
