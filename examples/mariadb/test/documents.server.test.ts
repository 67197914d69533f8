import { sharedServer } from "@scrollback/conformance/servers";
import { runDocumentDatabase } from "@scrollback/documents/conformance";
import { pagesOf, quoted } from "../src/setup.ts";
import { toBytes } from "../src/statements.ts";
import { watchedDocuments } from "./queries.ts";
import { makeTable } from "./table.ts";

const server = sharedServer("mariadb");

runDocumentDatabase({
  name: "MariaDB",
  async createHarness() {
    const table = await makeTable((await server).url);
    const sent: string[] = [];
    return {
      connect: () => watchedDocuments(table, sent).database,
      requestCount: () => sent.length,
      async sweep(threadId) {
        for (const name of [quoted(table.tableName), pagesOf(table.tableName)])
          await table.pool.query(`DELETE FROM ${name} WHERE thread = ? AND until <= ?`, [
            toBytes(threadId),
            Date.now(),
          ]);
      },
      async damage(threadId) {
        const sql = `UPDATE ${quoted(table.tableName)} SET head = 'damaged' WHERE thread = ?`;
        await table.pool.query(sql, [toBytes(threadId)]);
      },
      close: async () => table[Symbol.asyncDispose](),
    };
  },
});
