import { REMEMBERED_MS } from "@scrollback/store-core/driver";
import type { Head } from "../database.ts";

/** Covers the differences between the clocks of writers, readers and the database, and requests that arrive late. */
const SLACK_MS = 10 * 60_000;
/** The time for which operations are remembered beyond the newest 64, and for which a deleted thread has a head. */
export const KEPT_MS = REMEMBERED_MS + SLACK_MS;
/** The time after which nothing is left of a deleted thread, on a database that deletes what is past its `until` within hours. */
export const DELETED_WITHIN_MS = 24 * 3_600_000;

/** Whether a head is that of a thread that exists. */
export function isAlive(head: Head | null | undefined, now: number): head is Head {
  return head != null && !head.isDead && !(head.expiresAt !== undefined && now >= head.expiresAt);
}

/** Whether one `until` is later than another; undefined is never. */
export function isLater(one: number | undefined, other: number | undefined): boolean {
  return (one ?? Number.POSITIVE_INFINITY) > (other ?? Number.POSITIVE_INFINITY);
}

/**
 * The `until` of a thread's head and pages after a commit: that of before while it is late enough, and not later than one `ttlMs` more, else
 * one `ttlMs` later than needed, so that pages are raised at most once in that time.
 */
export function untilAfter(
  before: number | undefined,
  { expiresAt, ttlMs, now }: { expiresAt: number | undefined; ttlMs: number | undefined; now: number },
): number | undefined {
  if (expiresAt === undefined || ttlMs === undefined) return undefined;
  const needed = Math.max(expiresAt, now + REMEMBERED_MS) + SLACK_MS;
  return before !== undefined && before >= needed && before <= needed + ttlMs ? before : needed + ttlMs;
}
