import { runRecordLog } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { type SentQuery, watchedLog } from "./queries.ts";
import { makeTable } from "./table.ts";

const server = startServer("postgres");
afterAll(async () => (await server).stop());

runRecordLog({
  name: "PostgreSQL",
  async createLog() {
    const table = await makeTable((await server).url);
    const sent: SentQuery[] = [];
    return {
      connect: () => watchedLog(table, sent).log,
      requestCount: () => sent.length,
      sweep: table.sweep,
      close: async () => table[Symbol.asyncDispose](),
    };
  },
});
