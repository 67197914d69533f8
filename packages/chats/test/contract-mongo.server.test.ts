import { randomUUID } from "node:crypto";
import { startServer } from "@scrollback/conformance/servers";
import { createMongoStores } from "@scrollback/store-mongo";
import { afterAll } from "vitest";
import { runChatContract } from "../src/contract/index.ts";

const server = startServer("mongodb");
afterAll(async () => (await server).stop());

runChatContract({
  name: "MongoDB",
  createHarness: async () => {
    const { url } = await server;
    const place = { url, database: "scrollback_chats", collectionName: randomUUID() };
    return { openStores: () => createMongoStores(place), close: async () => undefined };
  },
});
