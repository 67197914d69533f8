import { runConformance } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import { afterAll, expect, test, vi } from "vitest";
import { redisHarnesses } from "./harness.ts";

vi.mock("ioredis", async () => await import("ioredis-5"));

test("ioredis 5 replaces ioredis 6", () => {
  expect(Redis).toBe(Redis5);
});

const server = startServer("redis", { password: "hunter2" });
afterAll(async () => (await server).stop());
const module = new URL("./connection-ioredis-5.ts", import.meta.url);

runConformance({ name: "Redis, ioredis 5", createHarness: redisHarnesses(server, module) });
