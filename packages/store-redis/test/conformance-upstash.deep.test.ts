import { runConformance } from "@scrollback/conformance";
import { sharedServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { upstashHarnesses } from "./harness.ts";
import { UpstashServer } from "./upstash-server.ts";

const starting = sharedServer("redis").then(
  async (redis) => [redis, await UpstashServer.start(redis.url)] as const,
);
afterAll(async () => (await starting)[1].stop());

runConformance({ name: "Redis, @upstash/redis", createHarness: upstashHarnesses(starting) });
