import { runConformance } from "@scrollback/conformance";
import { Cluster } from "ioredis";
import { Cluster as Cluster5 } from "ioredis-5";
import { afterAll, expect, test, vi } from "vitest";
import { startRedisCluster } from "../../../conformance-tests/test/fixtures/redis-groups.ts";
import { redisClusterHarnesses } from "./harness.ts";

vi.mock("ioredis", async () => await import("ioredis-5"));

test("ioredis 5 replaces ioredis 6", () => {
  expect(Cluster).toBe(Cluster5);
});

const cluster = startRedisCluster();
afterAll(async () => (await cluster).stop());
const module = new URL("./connection-ioredis-5.ts", import.meta.url);

runConformance({ name: "Redis Cluster, ioredis 5", createHarness: redisClusterHarnesses(cluster, module) });
