import type { CommitOutcome, CommitRequest, Driver, ReadRequest } from "@scrollback/store-core/driver";
import { formatRecord } from "@scrollback/store-core/internal";
import { MemoryRecordLog, RecordLogDriver } from "../src/index.ts";
import { holdBack, type LogRequest, THREAD, WatchedLog } from "./scenes.ts";

export const whole: ReadRequest = {
  ...{ threadId: THREAD, limit: Number.POSITIVE_INFINITY, before: undefined, after: undefined },
  ...{ metadata: true, signal: undefined },
};

/** A request to append messages, as a store sends it for the first time. */
export function appendOf(operationId: string, change: Partial<CommitRequest> = {}): CommitRequest {
  return {
    ...{ threadId: THREAD, operationId, digest: "own", isNewOperation: true, newIncarnation: "unused" },
    ...{ expectedRevision: undefined, drop: 0, append: [formatRecord("u", 0, `"${operationId}"`)] },
    ...{ metadata: undefined, maxMessages: undefined, trimming: "turns", ttlMs: undefined },
    ...{ createdAt: 1, updatedAt: 1, signal: undefined, ...change },
  };
}

export interface Process {
  readonly log: WatchedLog;
  readonly driver: RecordLogDriver;
}

export function processOn(rows: MemoryRecordLog): Process {
  const log = new WatchedLog(rows);
  return { log, driver: new RecordLogDriver(log) };
}

/** Whether a request inserts a row with several commits. */
export const isShared = (request: LogRequest) =>
  request.verb === "insert" && request.row.head.includes('"O"');
export const isInsert = ({ verb }: LogRequest) => verb === "insert";

/** Begins a thread, then a commit whose insert waits until it is released. Later commits queue up behind it. */
export async function busyThread(rows = new MemoryRecordLog()) {
  const { log, driver } = processOn(rows);
  await driver.commit(appendOf("first"));
  const held = holdBack(log, isInsert);
  const before = driver.commit(appendOf("before"));
  await held.isReached;
  log.requests.length = 0;
  return { rows, log, driver, before, release: held.release };
}

export function nOf({ revision }: CommitOutcome): number {
  return Number(revision?.split(".")[1]);
}

export async function idsIn(driver: Driver): Promise<string[]> {
  const { entries } = await driver.read(whole);
  return entries.map(({ record }) => JSON.parse(record.slice(record.indexOf('"'))));
}

/** The commits in each row, lowest first, 0 for a row without commits. */
export function rowSizes(rows: MemoryRecordLog): number[] {
  return rows
    .rowsOf(THREAD)
    .sort((one, other) => one.number - other.number)
    .map(({ head }) => {
      const { o, O = [] } = JSON.parse(head);
      return o === undefined ? 0 : O.length + 1;
    });
}
