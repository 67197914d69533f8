import { runConformance } from "@scrollback/conformance";
import { startRedisCluster, startServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { redisClusterHarnesses, redisHarnesses } from "./harness.ts";

const server = startServer("redis", { password: "hunter2" });
const cluster = startRedisCluster();
afterAll(async () => {
  await (await server).stop();
  await (await cluster).stop();
});

runConformance({ name: "Redis", createHarness: redisHarnesses(server) });
runConformance({ name: "Redis Cluster", createHarness: redisClusterHarnesses(cluster) });
