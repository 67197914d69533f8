import { randomUUID } from "node:crypto";
import { startServer } from "@scrollback/conformance/servers";
import { createPostgresStores } from "@scrollback/store-postgres";
import { afterAll } from "vitest";
import { runChatContract } from "../src/contract/index.ts";

const server = startServer("postgres");
afterAll(async () => (await server).stop());

runChatContract({
  name: "PostgreSQL",
  createHarness: async () => {
    const { url } = await server;
    const tableName = `chats_${randomUUID().replaceAll("-", "")}`;
    await using stores = createPostgresStores({ url, tableName });
    await stores.setup();
    return { openStores: () => createPostgresStores({ url, tableName }), close: async () => undefined };
  },
});
