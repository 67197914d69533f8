import { randomUUID } from "node:crypto";
import { startServer } from "@scrollback/conformance/servers";
import { createRedisStores } from "@scrollback/store-redis";
import { afterAll } from "vitest";
import { runSessionContract } from "../src/contract/index.ts";
import { harnessOf } from "./harnesses.ts";

const server = startServer("redis");
afterAll(async () => (await server).stop());

runSessionContract({
  name: "Redis",
  createHarness: async () => {
    const { url } = await server;
    const keyPrefix = randomUUID();
    return harnessOf(() => createRedisStores({ url, keyPrefix }));
  },
});
