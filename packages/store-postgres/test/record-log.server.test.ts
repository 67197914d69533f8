import { runRecordLog } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { openLog } from "./client.ts";
import { makeTable } from "./table.ts";

const server = startServer("postgres");
afterAll(async () => (await server).stop());

runRecordLog({
  name: "PostgreSQL",
  async createLog() {
    const table = await makeTable((await server).url);
    return {
      connect: () => openLog(table),
      sweep: table.sweep,
      close: async () => table[Symbol.asyncDispose](),
    };
  },
});
