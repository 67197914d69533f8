import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { serverStores } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { runSessionContract } from "./contract/index.ts";
import { harnessOf } from "./harnesses.ts";

for (const name of ["MongoDB", "DynamoDB", "PostgreSQL"] as const) {
  const stores = serverStores(name);
  runSessionContract({ name, createHarness: async () => harnessOf(await stores()) });
}

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
