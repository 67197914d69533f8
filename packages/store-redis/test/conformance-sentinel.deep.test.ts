import { runConformance } from "@scrollback/conformance";
import { startRedisSentinel } from "@scrollback/conformance/servers/internal";
import { afterAll } from "vitest";
import { redisSentinelHarnesses } from "./harness.ts";

const server = startRedisSentinel();
afterAll(async () => (await server).stop());

runConformance({ name: "Redis Sentinel", createHarness: redisSentinelHarnesses(server) });
