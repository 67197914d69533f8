import type { FaultyConnection, Harness, RawAccess } from "@scrollback/conformance";
import { type LogRow, type RecordLog, RecordLogDriver } from "../index.ts";
import { CountingLog } from "./counting-log.ts";

/** A log, and the number of requests that it has sent. */
export interface CountedLog {
  readonly log: RecordLog;
  /** The requests of this log alone, counted at its client. */
  requestCount(): number;
}

/** The input of {@link recordLogHarness}: logs on a new namespace, and direct access to their rows. */
export interface RecordLogBackend extends Pick<Harness, "server" | "childProcess" | "secrets" | "close"> {
  /** Opens a log on the namespace, with separate connections. */
  connect(): RecordLog;
  /** Returns all stored rows of a stream, in any order, read with the test's own client. */
  rows(stream: string): Promise<readonly LogRow[]>;
  /** Replaces the texts of a row, with that client. */
  replaceTexts(stream: string, number: number, texts: readonly string[]): Promise<void>;
  /** See {@link RawAccess.dumpIndex}. Required if the logs have an index. */
  dumpIndex?(index: string): Promise<string>;
  /** Like {@link Harness.faults}, with logs. */
  readonly faults?: Omit<FaultyConnection, "connect"> & { connect(): RecordLog };
  /**
   * Opens the log of the harness' own driver, whose requests are counted. Default: the log is of {@link connect}, and each call of
   * a verb is one request. Give it where a verb may send several.
   */
  connectCounted?(): CountedLog;
}

/**
 * The harness of a driver over a record log. Derives the suite's direct access from raw rows, and counts the requests of its own
 * driver: by the verbs of the log, or by {@link RecordLogBackend.connectCounted}.
 *
 * @example
 * runConformance({ name: "My backend", createHarness: async () => recordLogHarness({ server, connect, childProcess, rows, replaceTexts, close }) });
 */
export function recordLogHarness(backend: RecordLogBackend): Harness {
  const { server, childProcess, secrets, faults } = backend;
  const { log, requestCount } = backend.connectCounted?.() ?? countVerbs(backend.connect());
  const driver = new RecordLogDriver(log);
  return {
    driver,
    server,
    connect: () => new RecordLogDriver(backend.connect()),
    ...(childProcess && { childProcess }),
    raw: recordLogAccess(backend),
    requestCount,
    ...(secrets && { secrets }),
    ...(faults && { faults: { ...faults, connect: () => new RecordLogDriver(faults.connect()) } }),
    async close() {
      await driver.close();
      await backend.close();
    },
  };
}

function countVerbs(counted: RecordLog): CountedLog {
  const log = new CountingLog(counted);
  return { log, requestCount: () => log.requestCount };
}

/** Reads and plants records for the suite behind a driver, with the rows of its log. */
export function recordLogAccess({
  connect,
  rows,
  replaceTexts,
  dumpIndex,
}: Pick<RecordLogBackend, "connect" | "rows" | "replaceTexts" | "dumpIndex">): RawAccess {
  return {
    ...(dumpIndex && { dumpIndex }),
    async dump(threadId) {
      return (await rows(threadId)).flatMap(({ head, texts }) => [head, ...texts]).join("\n");
    },
    async plant(threadId, sequence, record) {
      const driver = new RecordLogDriver(connect());
      const whole = { limit: Number.POSITIVE_INFINITY, before: undefined, after: undefined };
      const view = await driver
        .read({ ...whole, threadId, metadata: false, signal: undefined })
        .finally(() => driver.close());
      const found = view.entries.find((entry) => entry.sequence === sequence)?.record;
      const row = (await rows(threadId)).find(({ texts }) => found !== undefined && texts.includes(found));
      if (!row || found === undefined) throw new Error(`there is no message ${sequence} in ${threadId}`);
      await replaceTexts(threadId, row.number, row.texts.with(row.texts.indexOf(found), record));
    },
  };
}
