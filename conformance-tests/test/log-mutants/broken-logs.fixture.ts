import { CountingLog, runRecordLog } from "../../src/index.ts";
import { brokenLogs, logOf } from "./broken-logs.ts";

for (const [name, breakIt] of Object.entries(brokenLogs)) {
  runRecordLog({
    name,
    async createLog() {
      const { log: broken, sound } = logOf(breakIt);
      const log = new CountingLog(broken);
      return {
        connect: () => log,
        requestCount: () => log.requestCount,
        sweep: async () => void sound.sweep(Date.now()),
        close: async () => {},
      };
    },
  });
}
