import type { Harness } from "../../../../conformance-tests/src/harness.ts";
import { documentHarness } from "../../src/conformance/document-harness.ts";
import { SqliteDocuments } from "../../src/sqlite/index.ts";
import { TestClient } from "./client.ts";

/** Documents in SQLite, in this process's memory. */
export async function sqliteDocumentsHarness(): Promise<Harness> {
  const client = new TestClient();
  const connect = () => new SqliteDocuments(client, "test_");
  await connect().setup();
  return documentHarness({
    server: { product: "SQLite", version: process.versions.sqlite ?? "" },
    connect,
    dump: async (threadId) =>
      client.dump(threadId, [
        ["heads", "thread"],
        ["pages", "thread"],
      ]),
    dumpIndex: async (index) => client.dump(index, [["entries", "name"]]),
    close: async () => client.database.close(),
  });
}
