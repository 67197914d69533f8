import { runConformance } from "@scrollback/conformance";
import { afterAll } from "vitest";
import { startRedisSentinel } from "../../../conformance-tests/test/fixtures/redis-groups.ts";
import { redisSentinelHarnesses } from "./harness.ts";

const server = startRedisSentinel();
afterAll(async () => (await server).stop());

runConformance({ name: "Redis Sentinel", createHarness: redisSentinelHarnesses(server) });
