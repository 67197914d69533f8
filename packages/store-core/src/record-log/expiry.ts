import { LAST_MOMENT } from "./field-types.ts";
import type { Head } from "./format.ts";
import { FIRST_ROW, type LogRow } from "./record-log.ts";

const HOUR = 60 * 60 * 1_000;
const DAY = 24 * HOUR;
/** The maximum difference between the clocks of writers and of the backend. */
const CLOCK_DIFFERENCE_MS = DAY;
/** A row that was inserted within this time before its promised expiry proves nothing: lower rows may be deleted already. */
export const SOLID_MARGIN_MS = CLOCK_DIFFERENCE_MS + 2 * HOUR;
/** A thread expires this long before its rows may be deleted. */
export const EXPIRY_MARGIN_MS = 72 * HOUR;
/** The time after which a freed key may be reused. */
export const FREED_MS = 48 * HOUR;
/** The maximum time between planning and the effect of a request that inserts or amends a root. */
const ROOT_LATE_MS = 14 * DAY;
/** The time for which a root is kept after the other rows of its incarnation. */
export const ROOT_EXPIRY_MS = 30 * DAY;
/**
 * The time after which the keys of a deleted thread may be reused. The amendment that sets it may be late, and a root that was
 * planned just before the amendment arrives may be late, too. The remaining days are for clocks.
 */
export const DELETED_MS = 2 * ROOT_LATE_MS + 8 * DAY;
/** The minimum reserve of a raised expiry, so that raises are rare. */
export const RAISE_AHEAD_MS = DAY;

/** An absent time means never. */
export function never(time: number | undefined): number {
  return time ?? Number.POSITIVE_INFINITY;
}

/** A head omits a time that means never, and a time that no `Date` can represent. */
export function finite(time: number): number | undefined {
  return time > LAST_MOMENT ? undefined : time;
}

/** The time from which the backend may delete a row, as set at its insert. */
export function expiryOf({ number, keptUntil }: Pick<Head, "number" | "keptUntil">): number | undefined {
  return keptUntil !== undefined && number < FIRST_ROW ? finite(keptUntil + ROOT_EXPIRY_MS) : keptUntil;
}

/** Whether a root certainly exists until each request for roots that is planned now has arrived. */
export function outlivesLateRoots(expiresAt: number | undefined, now: number): boolean {
  return never(expiresAt) > now + ROOT_LATE_MS + SOLID_MARGIN_MS;
}

/** Whether a row was freed: only then does a row expire earlier than its head says. */
export function isFreed({ expiresAt }: Pick<LogRow, "expiresAt">, head: Head): boolean {
  return never(expiresAt) < never(expiryOf(head));
}
