import type { DocumentDriver } from "../../src/index.ts";
import type { Event, Result } from "./history.ts";

/** A message of one letter. `S` is a system message. */
const messageOf = (letter: string) =>
  ({ kind: letter === "S" ? "s" : "u", createdAt: 0, text: letter }) as const;

/** A store repeats a call within this time. */
export const REPEATED_WITHIN_MS = 6_000;

export interface Target {
  readonly driver: DocumentDriver;
  readonly threadId: string;
  readonly operationId: string;
  /** The number of earlier attempts of the call. */
  readonly attempt: number;
  readonly now: number;
}

/** Makes a call of the explored program, as a store does. */
export async function makeCall(
  { call, expected, beginWall }: Event,
  { driver, threadId, operationId, attempt, now }: Target,
): Promise<Result> {
  const sendBefore = attempt === 0 ? undefined : beginWall + REPEATED_WITHIN_MS;
  const common = { threadId, sendBefore, signal: undefined };
  if (call.kind === "read") {
    const all = { limit: Number.POSITIVE_INFINITY, before: undefined, after: undefined };
    const { revision, entries } = await driver.read({ ...common, ...all, metadata: true });
    const texts = entries.map(({ text }) => (text === "" ? "(missing)" : text));
    return { kind: "seen", revision, texts };
  }
  if (call.kind === "delete") {
    await driver.delete({ ...common, operationId, expectedRevision: undefined });
    return { kind: "deleted" };
  }
  const { append = "", drop = 0, maxMessages, trimming = "exact", ttlMs } = call;
  const newIncarnation = `call-${operationId}-${attempt}`.padEnd(16, "_");
  const { outcome, revision } = await driver.commit({
    ...{ ...common, operationId, digest: `of ${operationId}`, isNewOperation: attempt === 0, newIncarnation },
    ...{ drop, metadata: undefined, maxMessages, trimming, ttlMs },
    append: [...append].map(messageOf),
    ...{ expectedRevision: expected, createdAt: now, updatedAt: now },
  });
  return { kind: outcome.endsWith("-conflict") ? "conflict" : "committed", revision };
}
