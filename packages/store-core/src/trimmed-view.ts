import { boundsAt, type CursorRange } from "./cursor.ts";
import type { Driver, ReadRequest, ThreadView } from "./driver.ts";
import { kindOfRecord } from "./record.ts";
import {
  countOf,
  type Extent,
  firstOf,
  isWithin,
  lastOf,
  selectRange,
  type Trimming,
  trim,
} from "./trimming.ts";

/** The extent that a view tells of. */
function extentOf({ count, first, last }: ThreadView): Extent {
  if (count === 0) return { pinned: null, first: last + 1, next: last + 1 };
  return count === last - first + 1
    ? { pinned: null, first, next: last + 1 }
    : { pinned: first, first: last - count + 2, next: last + 1 };
}

/**
 * Reads a thread that holds more than `maxMessages` as it will be once the next write has trimmed it. Costs one read of
 * the newest `maxMessages`, and one of the leading message where that is a system message.
 */
export async function readTrimmed(
  driver: Driver,
  threadId: string,
  range: CursorRange & Pick<ReadRequest, "limit" | "metadata">,
  how: {
    readonly maxMessages: number;
    readonly trimming: Trimming;
    readonly signal: AbortSignal | undefined;
  },
): Promise<ThreadView> {
  const { maxMessages, trimming, signal } = how;
  const request = { threadId, metadata: range.metadata, signal };
  for (;;) {
    const window = await driver.read({ ...request, limit: maxMessages, before: undefined, after: undefined });
    const leading = await driver.read({ ...request, limit: 1, before: undefined, after: 0, metadata: false });
    // A commit came between the two.
    if (leading.revision !== window.revision) continue;
    const entries = new Map([...leading.entries, ...window.entries].map((entry) => [entry.sequence, entry]));
    const trimmed = trim(extentOf(window), maxMessages, trimming, (sequence) =>
      kindOfRecord(entries.get(sequence)?.record ?? ""),
    );
    const wanted = selectRange(trimmed, { limit: range.limit, ...boundsAt(window.revision, range) });
    return {
      ...window,
      count: countOf(trimmed),
      first: firstOf(trimmed),
      last: lastOf(trimmed),
      entries: [...entries.values()].filter((entry) => isWithin(wanted, entry.sequence)),
    };
  }
}
