import { setImmediate as later } from "node:timers/promises";
import type { Harness } from "../../../conformance-tests/src/harness.ts";
import { GatedLog } from "../src/conformance/gated-log.ts";
import { MemoryRecordLog, type RecordLog, RecordLogDriver } from "../src/index.ts";

/**
 * The record log in memory: two drivers on one log correspond to two processes on one server. `wrap` wraps the log between the
 * counted requests and the driver.
 */
export async function recordLogHarness(wrap: (log: RecordLog) => RecordLog = (log) => log): Promise<Harness> {
  const log = new MemoryRecordLog();
  let requests = 0;
  // Each request is sent with a delay, so that other requests can come between two requests.
  const counted = new GatedLog(log, {
    async before() {
      requests++;
      await later();
    },
  });
  const driver = new RecordLogDriver(wrap(counted));
  return {
    driver,
    server: { product: "Node.js", version: process.versions.node },
    connect: () => new RecordLogDriver(new GatedLog(log, { before: () => later() })),
    requestCount: () => requests,
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
        const row = log.rowsOf(threadId).find(({ texts }) => texts.includes(found?.record ?? ""));
        if (!found || !row) throw new Error(`there is no message ${sequence} in ${threadId}`);
        log.plant(threadId, row.number, row.texts.indexOf(found.record), record);
      },
    },
    close: () => driver.close(),
  };
}
