import { isRange, rangesBelow } from "./log-plan.ts";
import {
  type Discard,
  type LogHead,
  parseHead,
  type RowRange,
  type TextPlace,
  type ThreadEnd,
} from "./log-record.ts";
import { partStream, piecesOf } from "./parts.ts";
import type { Amendment, RecordLog } from "./record-log.ts";

/** How long a blanked row's key stays taken at the least, so that a late writer's insert is refused. */
export const KEY_LIFETIME_MS = 24 * 60 * 60 * 1000;

/**
 * Blanks what a thread's end tells of as discarded, and lets the backend delete the blanked rows below `oldest`. May be
 * repeated, and run beside others.
 */
export async function collect(
  log: RecordLog,
  stream: string,
  end: ThreadEnd,
  oldest: number,
  now: number,
): Promise<void> {
  const expiresAt = now + KEY_LIFETIME_MS;
  const ranges = end.discarded.filter(isRange);
  const spent = rangesBelow([...ranges, ...end.spent], oldest);
  const amendments: Amendment[] = [
    ...ranges.flatMap((range) => blankRange(range, end)),
    ...end.discarded.filter(isTexts).flatMap(([row, from, to]) => blankTexts(row, from, to, end)),
    // An expiry never reaches a row that holds something seen.
    ...spent
      .flatMap((range) => outsideOf(range, liveRows(end)))
      .map(([from, to]) => ({ from, to, expiresAt })),
  ];
  if (end.hasParts) await collectParts(log, stream, end, expiresAt);
  if (amendments.length > 0) await log.amend(stream, amendments);
}

function isTexts(discard: Discard): discard is readonly [row: number, from: number, to: number] {
  return typeof discard !== "string" && discard.length === 3;
}

/** The texts of rows that are otherwise dead that are still seen: the pinned message and the metadata. */
function livePlaces(end: ThreadEnd): TextPlace[] {
  return [end.pinnedAt, end.metadataAt].filter((place) => place !== undefined);
}

function liveRows(end: ThreadEnd): number[] {
  return [...new Set(livePlaces(end).map((place) => place.row))].sort((a, b) => a - b);
}

function outsideOf([from, to]: RowRange, rows: readonly number[]): RowRange[] {
  const within = rows.filter((row) => row >= from && row <= to);
  return [...within, to + 1]
    .map((row, index): RowRange => [(within[index - 1] ?? from - 1) + 1, row - 1])
    .filter(([first, last]) => first <= last);
}

function blankRange(range: RowRange, end: ThreadEnd): Amendment[] {
  const dead = outsideOf(range, liveRows(end)).map(([from, to]) => ({ from, to, blank: "all" as const }));
  const counts = new Map(livePlaces(end).map((place) => [place.row, place.count]));
  const partly = [...counts].filter(([row]) => row >= range[0] && row <= range[1]);
  return [...dead, ...partly.flatMap(([row, count]) => blankTexts(row, 0, count, end))];
}

function blankTexts(row: number, from: number, to: number, end: ThreadEnd): Amendment[] {
  return deadRuns(row, from, to, end).map(([first, last]) => ({
    from: row,
    to: row,
    blank: { from: first, to: last + 1 },
  }));
}

/** The indexes from `from` to `to - 1` of a row's texts that are not seen, as runs: first to last. */
function deadRuns(row: number, from: number, to: number, end: ThreadEnd): RowRange[] {
  const seen = livePlaces(end)
    .filter((place) => place.row === row)
    .map((place) => place.index);
  return outsideOf(
    [from, to - 1],
    [...new Set(seen)].sort((a, b) => a - b),
  );
}

async function collectParts(
  log: RecordLog,
  stream: string,
  end: ThreadEnd,
  expiresAt: number,
): Promise<void> {
  for (const discard of end.discarded) {
    if (typeof discard === "string") {
      await log.amend(partStream(stream, discard), [
        { from: 1, to: Number.MAX_SAFE_INTEGER, blank: "all", expiresAt },
      ]);
      continue;
    }
    const [first, last] = isRange(discard) ? discard : [discard[0], discard[0]];
    for (const head of await headsOf(log, stream, first, last)) {
      if (!head.commit?.parts) continue;
      const { parts, kinds } = head.commit;
      const count = kinds.length + (head.end.metadataAt?.row === head.number ? 1 : 0);
      const [from, to] = isRange(discard) ? [0, count] : [discard[1], discard[2]];
      const dead = deadRuns(head.number, from, Math.min(to, count), end);
      const whole = dead[0]?.[0] === 0 && dead[0][1] === count - 1;
      const amendments = whole
        ? [{ from: 1, to: parts.rows.length, blank: "all" as const, expiresAt }]
        : dead
            .flatMap(([first, last]) => piecesOf(parts, first, last + 1))
            .map(({ row, index }) => ({ from: row, to: row, blank: { from: index, to: index + 1 } }));
      if (amendments.length > 0) await log.amend(partStream(stream, parts.token), amendments);
    }
  }
}

/** The heads of the rows `first` to `last` that are there, newest first. */
export async function headsOf(
  log: RecordLog,
  stream: string,
  first: number,
  last: number,
): Promise<LogHead[]> {
  const rows = await log.read(stream, last + 1, last - first + 1, true);
  return rows.filter((row) => row.number >= first).map((row) => parseHead(row.number, row.head));
}
