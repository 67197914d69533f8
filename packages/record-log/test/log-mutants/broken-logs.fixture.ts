import { CountingLog } from "../../src/conformance/counting-log.ts";
import { runRecordLog } from "../../src/conformance/index.ts";
import { brokenLogs, logOf, SOUND } from "./broken-logs.ts";

for (const [name, breakIt] of Object.entries({ ...brokenLogs, [SOUND]: () => ({}) })) {
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
