import { runConformance } from "@scrollback/conformance";
import { CountingLog } from "../src/conformance/counting-log.ts";
import { runRecordLog } from "../src/conformance/index.ts";
import { MemoryRecordLog } from "../src/index.ts";
import { recordLogHarness } from "./harness.ts";

runConformance({ name: "Record log", createHarness: recordLogHarness });

runRecordLog({
  name: "Memory",
  async createLog() {
    const memory = new MemoryRecordLog();
    const log = new CountingLog(memory);
    return {
      connect: () => log,
      requestCount: () => log.requestCount,
      sweep: async () => void memory.sweep(Date.now()),
      close: () => log.close(),
    };
  },
});
