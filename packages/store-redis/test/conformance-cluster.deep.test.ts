import { runConformance } from "@scrollback/conformance";
import { afterAll } from "vitest";
import { startRedisCluster } from "../../../conformance-tests/test/fixtures/redis-groups.ts";
import { redisClusterHarnesses } from "./harness.ts";

const cluster = startRedisCluster();
afterAll(async () => (await cluster).stop());

runConformance({ name: "Redis Cluster", createHarness: redisClusterHarnesses(cluster) });
