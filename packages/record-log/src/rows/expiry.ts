import { FIRST_ROW, type LogRow } from "../record-log.ts";
import { LAST_MOMENT } from "./field-types.ts";
import type { Head } from "./format.ts";

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
 * The rows of a deleted thread expire after this time: later than any writer's cached state is used, and earlier than is promised for
 * a thread that exists by any clock. So they never keep the promise of a row that exists, and no raise extends them.
 */
export const RELEASED_MS = EXPIRY_MARGIN_MS - SOLID_MARGIN_MS;
/**
 * The same for its roots, which are promised for longer, and for its closing row. It must be more than twice {@link ROOT_LATE_MS}: the
 * amendment may be late, and a root that was planned just before the amendment arrives may be late, too.
 */
export const DELETED_MS = RELEASED_MS + ROOT_EXPIRY_MS;
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

/**
 * Whether a row is kept as long as a head promises for all rows that its thread needs: the row itself, the one below, the root.
 * Otherwise it was freed, and the thread was deleted. If a freed row is kept that long, the thread had expired before.
 */
export function keepsPromise(
  { number, expiresAt }: Pick<LogRow, "number" | "expiresAt">,
  { promisedUntil: keptUntil }: Pick<Head, "promisedUntil">,
): boolean {
  return never(expiresAt) >= never(expiryOf({ number, keptUntil }));
}
