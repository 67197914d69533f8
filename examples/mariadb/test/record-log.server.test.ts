import { sharedServer } from "@scrollback/conformance/servers";
import { runRecordLog } from "@scrollback/record-log/conformance";
import { watchedLog } from "./queries.ts";
import { makeTable } from "./table.ts";

const server = sharedServer("mariadb");

runRecordLog({
  name: "MariaDB",
  async createLog() {
    const table = await makeTable((await server).url);
    const sent: string[] = [];
    return {
      connect: () => watchedLog(table, sent).log,
      requestCount: () => sent.length,
      sweep: table.sweep,
      close: async () => table[Symbol.asyncDispose](),
    };
  },
});
