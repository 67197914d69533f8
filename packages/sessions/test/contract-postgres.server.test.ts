import { randomUUID } from "node:crypto";
import { startServer } from "@scrollback/conformance/servers";
import { createPostgresStores } from "@scrollback/store-postgres";
import { afterAll } from "vitest";
import { runSessionContract } from "../src/contract/index.ts";
import { harnessOf } from "./harnesses.ts";

const server = startServer("postgres");
afterAll(async () => (await server).stop());

runSessionContract({
  name: "PostgreSQL",
  createHarness: async () => {
    const { url } = await server;
    const tableName = `sessions_${randomUUID().replaceAll("-", "")}`;
    await using stores = createPostgresStores({ url, tableName });
    await stores.setup();
    return harnessOf(() => createPostgresStores({ url, tableName }));
  },
});
