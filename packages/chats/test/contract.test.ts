import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStores } from "@scrollback/store-core/driver";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { KeptDriver } from "../../../conformance-tests/test/fixtures/kept-driver.ts";
import { runChatContract } from "../src/contract/index.ts";

runChatContract({
  name: "memory",
  createHarness: async () => {
    const driver = new KeptDriver();
    return { openStores: () => createStores(driver), close: async () => undefined };
  },
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
