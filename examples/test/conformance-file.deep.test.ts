import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runConformance } from "@scrollback/conformance";
import { runRecordLog } from "@scrollback/record-log/conformance";
import { sweepFiles } from "../sweep-files.ts";
import { CountingFileLog, fileHarness } from "./file-harness.ts";

runConformance({ name: "Files", createHarness: fileHarness });

runRecordLog({
  name: "Files",
  async createLog() {
    const directory = await mkdtemp(join(tmpdir(), "scrollback-files-"));
    const logs: CountingFileLog[] = [];
    return {
      connect() {
        const log = new CountingFileLog(directory);
        logs.push(log);
        return log;
      },
      requestCount: () => logs.reduce((sum, { requests }) => sum + requests, 0),
      async sweep() {
        await sweepFiles(directory);
      },
      close: () => rm(directory, { recursive: true }),
    };
  },
});
