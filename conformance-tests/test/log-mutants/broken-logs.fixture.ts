import { runRecordLog } from "../../src/index.ts";
import { brokenLogs, logOf } from "./broken-logs.ts";

for (const [name, breakIt] of Object.entries(brokenLogs)) {
  runRecordLog({
    name,
    async createLog() {
      const { log, sound } = logOf(breakIt);
      return {
        connect: () => log,
        sweep: async () => void sound.sweep(Date.now()),
        close: async () => {},
      };
    },
  });
}
