import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStores, MemoryDriver } from "@scrollback/store-core";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { runChatContract } from "../src/contract/index.ts";

/** Threads that outlive the stores on them. */
class KeptDriver extends MemoryDriver {
  override async close(): Promise<void> {}
}

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
