import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryStores } from "@scrollback/store-core";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { runSessionContract } from "../src/contract/index.ts";
import { harnessOf } from "./harnesses.ts";

runSessionContract({
  name: "memory",
  // Threads in memory belong to one factory.
  createHarness: async () => {
    const stores = createMemoryStores();
    return harnessOf(() => stores);
  },
});

runSessionContract({
  name: "SQLite",
  createHarness: async () => {
    const directory = mkdtempSync(join(tmpdir(), "scrollback-sessions-"));
    const url = `sqlite:${join(directory, "chats.db")}`;
    return harnessOf(
      () => createSqliteStores({ url }),
      () => rmSync(directory, { recursive: true }),
    );
  },
});
