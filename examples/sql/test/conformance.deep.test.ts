import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runConformance } from "@scrollback/conformance";
import { documentHarness } from "@scrollback/documents/conformance";
import { SqlClient } from "../src/client.ts";
import { toBytes } from "../src/entries.ts";
import { SqlDocuments } from "../src/sql-documents.ts";

runConformance({
  name: "SQL",
  async createHarness() {
    const folder = await mkdtemp(join(tmpdir(), "sql-"));
    const path = join(folder, "chats.db");
    const client = new SqlClient(path);
    await new SqlDocuments(client).setup();
    return documentHarness({
      server: { product: "SQLite", version: process.versions.sqlite ?? "" },
      connect: () => new SqlDocuments(new SqlClient(path)),
      childProcess: { module: new URL("./connect.ts", import.meta.url), data: path },
      async dumpIndex(index) {
        const rows = await client.run("SELECT * FROM entries WHERE name = ?", [toBytes(index)]);
        return rows.length === 0 ? "" : JSON.stringify(rows).replaceAll('\\"', '"');
      },
      async close() {
        client.close();
        await rm(folder, { recursive: true });
      },
    });
  },
});
