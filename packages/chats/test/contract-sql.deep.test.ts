import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { serverStores } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { runChatContract } from "./contract/index.ts";

const stores = serverStores("PostgreSQL");
runChatContract({
  name: "PostgreSQL",
  createHarness: async () => ({ openStores: await stores(), close: async () => undefined }),
});

runChatContract({
  name: "SQLite",
  createHarness: async () => {
    const directory = mkdtempSync(join(tmpdir(), "scrollback-chats-"));
    const url = `sqlite:${join(directory, "chats.db")}`;
    return {
      openStores: () => createSqliteStores({ url }),
      close: async () => rmSync(directory, { recursive: true }),
    };
  },
});
