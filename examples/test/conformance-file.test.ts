import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runConformance, runRecordLog } from "@scrollback/conformance";
import { FileRecordLog } from "../file-record-log.ts";
import { sweepFiles } from "../sweep-files.ts";
import { fileHarness } from "./file-harness.ts";

runConformance({ name: "Files", createHarness: fileHarness });

runRecordLog({
  name: "Files",
  async createLog() {
    const directory = await mkdtemp(join(tmpdir(), "scrollback-files-"));
    return {
      connect: () => new FileRecordLog(directory),
      async sweep() {
        await sweepFiles(directory);
      },
      close: () => rm(directory, { recursive: true }),
    };
  },
});
