import { headsOf, KEY_LIFETIME_MS } from "./log-collect.ts";
import type { Lease, LogHead, ThreadEnd } from "./log-record.ts";
import { partStream } from "./parts.ts";
import type { RecordLog } from "./record-log.ts";

/** How many rows a commit renews on the way. */
const RENEWED_AT_ONCE = 64;

/** How far beyond the thread's own expiry rows may live: long enough that renewing them is rare. */
function slackOf(ttlMs: number): number {
  return Math.max(ttlMs, KEY_LIFETIME_MS);
}

/**
 * When the backend may delete a row that tells of `end`; undefined: never. Not before any row below it tells of an expired
 * thread: else that one would be the last, and the thread would be back. So a thread that began to expire only later keeps
 * its rows until it is written to after its expiry.
 */
export function physicalExpiry(
  { latest }: Pick<ThreadEnd, "latest">,
  ttlMs: number | undefined,
): number | undefined {
  return latest === Number.POSITIVE_INFINITY ? undefined : latest + slackOf(ttlMs ?? 0);
}

/**
 * Sees to it, before a commit is inserted, that no row which matters is deleted before the thread has long expired. In the
 * steady state it renews a few rows a commit, once half of their slack is used up; all of them at once where the time to
 * live ends or grows, or where commits were too rare. Lives are only ever made longer, as the commit may come late.
 *
 * @param oldest the lowest row that is still needed for its operation id.
 * @param next what the thread will be.
 * @returns the lease that the commit's row carries.
 */
export async function renew(
  log: RecordLog,
  stream: string,
  current: LogHead | undefined,
  oldest: number,
  { expiresAt, latest }: ThreadEnd,
  ttlMs: number | undefined,
): Promise<Lease | undefined> {
  const lease = current?.end.lease;
  const until = physicalExpiry({ latest }, ttlMs);
  if (!current) return until === undefined ? undefined : { until, cursor: 0, next: 0 };
  const { firstRow } = current.end;
  const lowest = oldest > 0 ? Math.min(firstRow, oldest) : firstRow;
  if (until === undefined || expiresAt === undefined) {
    if (lease) await renewRows(log, stream, current, lowest, current.number, null);
    return undefined;
  }
  const slack = slackOf(ttlMs ?? 0);
  if (!lease || lease.until < expiresAt + slack / 4) {
    await renewRows(log, stream, current, lowest, current.number, until);
    return { until, cursor: 0, next: 0 };
  }
  if (lease.cursor === 0 && lease.until >= expiresAt + slack / 2) return lease;
  const next = lease.cursor === 0 ? until : lease.next;
  const from = Math.max(lease.cursor, lowest);
  const to = from + RENEWED_AT_ONCE - 1;
  await renewRows(log, stream, current, from, Math.min(to, current.number), next);
  return to >= current.number
    ? { until: next, cursor: 0, next: 0 }
    : { until: lease.until, cursor: to + 1, next };
}

async function renewRows(
  log: RecordLog,
  stream: string,
  current: LogHead,
  from: number,
  to: number,
  extendTo: number | null,
): Promise<void> {
  const special = [current.end.pinnedAt, current.end.metadataAt].flatMap((place) =>
    place ? [place.row] : [],
  );
  const outside = special.filter((row) => row < from || row > to);
  const ranges = [[from, to] as const, ...outside.map((row) => [row, row] as const)];
  if (current.end.hasParts) {
    for (const range of ranges) {
      for (const { commit } of await headsOf(log, stream, range[0], range[1])) {
        if (!commit?.parts) continue;
        const { token, rows } = commit.parts;
        await log.amend(partStream(stream, token), [{ from: 1, to: rows.length, extendTo }]);
      }
    }
  }
  await log.amend(
    stream,
    ranges.map((range) => ({ from: range[0], to: range[1], extendTo })),
  );
}
