import { runConformance } from "@scrollback/conformance";
import { afterAll } from "vitest";
import { startRedisSentinel } from "../../../conformance-tests/test/fixtures/redis-groups.ts";
import { redisSentinelHarnesses } from "./harness.ts";

const server = startRedisSentinel();
afterAll(async () => (await server).stop());

// A client of `createSentinel` of node-redis 5 cannot be duplicated.
const client = "node-redis 6";
runConformance({ name: `Redis Sentinel, ${client}`, createHarness: redisSentinelHarnesses(server, client) });
