import { MemoryRecordLog } from "@scrollback/store-core";
import { runConformance, runRecordLog } from "../src/index.ts";
import { recordLogHarness } from "./record-log-harness.ts";

runConformance({ name: "Record log", createHarness: recordLogHarness });

runRecordLog({
  name: "Memory",
  async createLog() {
    const log = new MemoryRecordLog();
    return {
      connect: () => log,
      sweep: async () => void log.sweep(Date.now()),
      close: () => log.close(),
    };
  },
});
