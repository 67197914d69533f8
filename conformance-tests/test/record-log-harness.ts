import { setImmediate as later } from "node:timers/promises";
import {
  type Amendment,
  type LogRow,
  MemoryRecordLog,
  type RecordLog,
  RecordLogDriver,
} from "@scrollback/store-core";
import type { Harness } from "../src/harness.ts";

/** A log that counts what is asked of it, and answers a little later, so that others come between two requests. */
class CountingLog implements RecordLog {
  readonly #log: MemoryRecordLog;
  requests = 0;

  constructor(log: MemoryRecordLog) {
    this.#log = log;
  }

  get capabilities(): RecordLog["capabilities"] {
    return this.#log.capabilities;
  }

  async insert(stream: string, row: LogRow): Promise<boolean | LogRow> {
    this.requests++;
    await later();
    return await this.#log.insert(stream, row);
  }

  async read(stream: string, below: number, limit: number): Promise<LogRow[]> {
    this.requests++;
    await later();
    return await this.#log.read(stream, below, limit);
  }

  async amend(stream: string, amendments: readonly Amendment[]): Promise<void> {
    this.requests++;
    await later();
    return await this.#log.amend(stream, amendments);
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  classifyError(): undefined {
    return this.#log.classifyError();
  }
}

/** The record log over memory: two drivers on one log are as two processes on one server. */
export async function recordLogHarness(): Promise<Harness> {
  const log = new MemoryRecordLog();
  const counting = new CountingLog(log);
  const driver = new RecordLogDriver(counting);
  return {
    driver,
    server: { product: "Node.js", version: process.versions.node },
    connect: () => new RecordLogDriver(new CountingLog(log)),
    requestCount: () => counting.requests,
    raw: {
      dump: async (threadId) =>
        log
          .rowsOf(threadId)
          .flatMap((row) => row.texts)
          .join("\n"),
      async plant(threadId, sequence, record) {
        const whole = {
          limit: Number.POSITIVE_INFINITY,
          before: undefined,
          after: undefined,
          metadata: false,
        };
        const { entries } = await new RecordLogDriver(log).read({ ...whole, threadId, signal: undefined });
        const found = entries.find((entry) => entry.sequence === sequence);
        const row = log.rowsOf(`t${threadId}`).find(({ texts }) => texts.includes(found?.record ?? ""));
        if (!found || !row) throw new Error(`there is no message ${sequence} in ${threadId}`);
        log.plant(`t${threadId}`, row.number, row.texts.indexOf(found.record), record);
      },
    },
    close: () => driver.close(),
  };
}
