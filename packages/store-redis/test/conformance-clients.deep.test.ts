import { runConformance } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { redisHarnesses } from "./harness.ts";

const server = startServer("redis", { password: "hunter2" });
afterAll(async () => (await server).stop());

for (const client of ["ioredis 5", "iovalkey", "node-redis 6", "node-redis 5"] as const)
  runConformance({ name: `Redis, ${client}`, createHarness: redisHarnesses(server, client) });
