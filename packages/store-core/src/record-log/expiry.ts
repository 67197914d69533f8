import { type Head, LAST_MOMENT } from "./format.ts";
import { FIRST_ROW, type LogRow } from "./record-log.ts";

const HOUR = 60 * 60 * 1_000;
const DAY = 24 * HOUR;
/** By how much the clocks of writers and of the backend may differ. */
const CLOCK_DIFFERENCE_MS = DAY;
/** A row that was inserted within this time of its promised expiry proves nothing: rows below may be deleted already. */
export const SOLID_MARGIN_MS = CLOCK_DIFFERENCE_MS + 2 * HOUR;
/** A thread expires this long before its rows may be deleted. */
export const EXPIRY_MARGIN_MS = 72 * HOUR;
/** A freed key may be taken again after this time. */
export const FREED_MS = 48 * HOUR;
/** No root is inserted so long after it was planned. */
export const ROOT_LIFE_MS = 30 * DAY;
/** The keys of a deleted thread may be taken again after this time: by then every root that was planned before has come. */
export const DELETED_MS = ROOT_LIFE_MS + 6 * DAY;
/** How much longer than needed a raised expiry is at least, so that raises are rare. */
export const RAISE_AHEAD_MS = DAY;

/** An absent time is never. */
export function never(time: number | undefined): number {
  return time ?? Number.POSITIVE_INFINITY;
}

/** A head leaves a time out that is never. So is one that no `Date` can hold. */
export function finite(time: number): number | undefined {
  return time > LAST_MOMENT ? undefined : time;
}

/** When the backend may delete a row, from the beginning. */
export function expiryOf({ number, keptUntil }: Pick<Head, "number" | "keptUntil">): number | undefined {
  return keptUntil !== undefined && number < FIRST_ROW ? finite(keptUntil + ROOT_LIFE_MS) : keptUntil;
}

/** Whether a row was freed: only that makes a row expire earlier than its head says. */
export function isFreed({ expiresAt }: Pick<LogRow, "expiresAt">, head: Head): boolean {
  return never(expiresAt) < never(expiryOf(head));
}
