import { runConformance } from "@scrollback/conformance";
import { startRedisCluster } from "@scrollback/conformance/servers/internal";
import { afterAll } from "vitest";
import { redisClusterHarnesses } from "./harness.ts";

const cluster = startRedisCluster();
afterAll(async () => (await cluster).stop());

runConformance({ name: "Redis Cluster", createHarness: redisClusterHarnesses(cluster) });
