import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Harness } from "@scrollback/conformance";
import {
  type Amendment,
  type LogRow,
  RecordLogDriver,
  type StreamPage,
  type StreamsRequest,
} from "@scrollback/record-log";
import { FileRecordLog, parseRow } from "../file-record-log.ts";

/** A log that counts each call as one request. Not `CountingLog` of the suite: child processes import this file, without Vitest. */
export class CountingFileLog extends FileRecordLog {
  requests = 0;

  override insert(stream: string, row: LogRow): Promise<boolean> {
    this.requests++;
    return super.insert(stream, row);
  }

  override read(stream: string, below: number, limit: number, heads: boolean): Promise<LogRow[]> {
    this.requests++;
    return super.read(stream, below, limit, heads);
  }

  override amend(stream: string, amendments: readonly Amendment[]): Promise<void> {
    this.requests++;
    return super.amend(stream, amendments);
  }

  override streams(request: StreamsRequest): Promise<StreamPage> {
    this.requests++;
    return super.streams(request);
  }
}

/** A driver on a directory. Imported by child processes. */
export function connect(directory: unknown): RecordLogDriver {
  return new RecordLogDriver(new FileRecordLog(String(directory)));
}

/** A harness on a separate directory. */
export async function fileHarness(): Promise<Harness> {
  const directory = await mkdtemp(join(tmpdir(), "scrollback-files-"));
  const log = new CountingFileLog(directory);
  const driver = new RecordLogDriver(log);
  return {
    driver,
    server: { product: "Node.js", version: process.versions.node },
    connect: () => connect(directory),
    childProcess: { module: new URL(import.meta.url), data: directory },
    requestCount: () => log.requests,
    raw: {
      dump: (threadId) => dump(folderOf(directory, threadId)),
      plant: (threadId, sequence, record) => plant(directory, threadId, sequence, record),
    },
    async close() {
      await driver.close();
      await rm(directory, { recursive: true });
    },
  };
}

/** The folder of a thread. */
function folderOf(directory: string, threadId: string): string {
  return join(directory, createHash("sha256").update(threadId).digest("hex"));
}

async function filesIn(folder: string): Promise<string[]> {
  if (!existsSync(folder)) return [];
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** The content of all files of a thread, including those of unfinished inserts. */
async function dump(folder: string): Promise<string> {
  const contents = (await filesIn(folder)).map((file) => readFile(file, "utf8"));
  return (await Promise.all(contents)).join("\n");
}

async function plant(directory: string, threadId: string, sequence: number, record: string): Promise<void> {
  const everything = {
    limit: Number.POSITIVE_INFINITY,
    before: undefined,
    after: undefined,
    metadata: false,
  };
  const { entries } = await connect(directory).read({ ...everything, threadId, signal: undefined });
  const found = entries.find((entry) => entry.sequence === sequence)?.record;
  for (const file of await filesIn(folderOf(directory, threadId))) {
    if (file.includes(".")) continue;
    const [line = "", ...changes] = (await readFile(file, "utf8")).split("\n");
    const { id, sizes } = parseRow(line);
    const bytes = await readFile(`${file}.${id}`);
    const starts = sizes.map((_, index) => sizes.slice(0, index).reduce((sum, size) => sum + size, 0));
    const texts = sizes.map((size, index) =>
      bytes.toString("utf8", starts[index], (starts[index] ?? 0) + size),
    );
    const index = texts.indexOf(found ?? "");
    if (index < 0) continue;
    const planted = texts.with(index, record);
    await writeFile(`${file}.${id}`, planted.join(""));
    const fields = { ...JSON.parse(line), sizes: planted.map((text) => Buffer.byteLength(text)) };
    await writeFile(file, [JSON.stringify(fields), ...changes].join("\n"));
    return;
  }
  throw new Error(`there is no message ${sequence} in ${threadId}`);
}
