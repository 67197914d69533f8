import { randomUUID } from "node:crypto";
import { startServer } from "@scrollback/conformance/servers";
import { createRedisStores } from "@scrollback/store-redis";
import { afterAll } from "vitest";
import { runChatContract } from "../src/contract/index.ts";

const server = startServer("redis");
afterAll(async () => (await server).stop());

runChatContract({
  name: "Redis",
  createHarness: async () => {
    const { url } = await server;
    const keyPrefix = randomUUID();
    return { openStores: () => createRedisStores({ url, keyPrefix }), close: async () => undefined };
  },
});
