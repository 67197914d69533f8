import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runDocumentDatabase } from "@scrollback/documents/conformance";
import { SqlClient } from "../src/client.ts";
import { toBytes } from "../src/entries.ts";
import { SqlDocuments } from "../src/sql-documents.ts";

runDocumentDatabase({
  name: "SQL",
  async createHarness() {
    const folder = await mkdtemp(join(tmpdir(), "sql-"));
    const path = join(folder, "chats.db");
    const client = new SqlClient(path);
    const database = new SqlDocuments(client);
    await database.setup();
    let sent = 0;
    class CountedClient extends SqlClient {
      override run(...statement: Parameters<SqlClient["run"]>) {
        sent += 1;
        return super.run(...statement);
      }
    }
    return {
      connect: () => new SqlDocuments(new CountedClient(path)),
      requestCount: () => sent,
      sweep: () => database.sweep(),
      async damage(threadId) {
        await client.run("UPDATE heads SET head = 'damaged' WHERE thread = ?", [toBytes(threadId)]);
      },
      async close() {
        client.close();
        await rm(folder, { recursive: true });
      },
    };
  },
});
