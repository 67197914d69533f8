import { runConformance } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { redisHarnesses } from "./harness.ts";

const server = startServer("redis-7", { password: "hunter2" });
afterAll(async () => (await server).stop());

runConformance({ name: "Redis 7", createHarness: redisHarnesses(server) });
