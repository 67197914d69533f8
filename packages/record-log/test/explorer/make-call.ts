import type { RecordLogDriver } from "../../src/index.ts";
import type { Event, Result } from "./history.ts";
import { RECORD } from "./words.ts";

export interface Target {
  readonly driver: RecordLogDriver;
  readonly threadId: string;
  readonly operationId: string;
  /** Whether the call is made for the first time. */
  readonly isNewOperation: boolean;
  readonly now: number;
}

/** Makes a call of the explored program. */
export async function makeCall(
  { call, expected }: Event,
  { driver, threadId, operationId, isNewOperation, now }: Target,
): Promise<Result> {
  const common = { threadId, signal: undefined };
  if (call.kind === "read") {
    const all = { limit: Number.POSITIVE_INFINITY, before: undefined, after: undefined };
    const { revision, entries } = await driver.read({ ...common, ...all, metadata: true });
    const texts = entries.map(({ record }) => (record === "" ? "(missing)" : record.slice(RECORD.length)));
    return { kind: "seen", revision, texts };
  }
  if (call.kind === "delete") {
    await driver.delete({ ...common, operationId, expectedRevision: undefined });
    return { kind: "deleted" };
  }
  const { append = "", drop = 0, maxMessages, ttlMs } = call;
  const { outcome, revision } = await driver.commit({
    ...{ ...common, operationId, digest: `of ${operationId}`, isNewOperation, newIncarnation: "" },
    ...{ drop, metadata: undefined, maxMessages, trimming: "exact", ttlMs },
    append: [...append].map((letter) => RECORD + letter),
    ...{ expectedRevision: expected, createdAt: now, updatedAt: now },
  });
  return { kind: outcome.endsWith("-conflict") ? "conflict" : "committed", revision };
}
