import type { ThreadEntry } from "../codec/record.ts";
import type { Driver, ReadRequest, ThreadView } from "../driver/driver.ts";
import { boundsAt, type CursorRange } from "../driver/revision.ts";
import { SequenceBounds } from "../trimming/bounds.ts";
import { NOT_SEARCHED, type Trimming, trim } from "../trimming/trimming.ts";

/** The maximum number of attempts to read the newest messages and the leading one at the same revision. */
const MAX_ATTEMPTS = 3;

type Range = CursorRange & Pick<ReadRequest, "limit" | "metadata">;
interface Settings {
  readonly maxMessages: number;
  readonly trimming: Trimming;
}

/**
 * The view of a thread with more than `maxMessages`, as the next write will trim it.
 *
 * Makes no request if `view` has the whole thread. Otherwise it reads the newest `maxMessages` and the one before them, and with
 * `"turns"` the leading message and the newest compaction item. If another writer commits in between, it retries up to
 * three times, then reads the whole thread at once. The signal is checked before each request.
 */
export async function trimmedView(
  driver: Driver,
  threadId: string,
  view: ThreadView,
  range: Range,
  settings: Settings,
  signal: AbortSignal | undefined,
): Promise<ThreadView> {
  const read = async (limit: number, after?: number): Promise<ThreadView> => {
    signal?.throwIfAborted();
    return await driver.read({
      threadId,
      limit,
      before: undefined,
      after,
      metadata: range.metadata && after === undefined,
      signal,
    });
  };
  if (isWhole(view)) return trimView(view, view.entries, range, settings);
  const { maxMessages, trimming } = settings;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const window = await read(maxMessages + 1);
    if (isWhole(window) || trimming === "exact") return trimView(window, window.entries, range, settings);
    const older: ThreadEntry[] = [];
    let isSame = true;
    for (const sequence of olderOf(window)) {
      const one = await read(1, sequence - 1);
      isSame = one.revision === window.revision;
      if (!isSame) break;
      older.push(...one.entries);
    }
    if (isSame) return trimView(window, [...older, ...window.entries], range, settings);
  }
  const whole = await read(Number.POSITIVE_INFINITY);
  return trimView(whole, whole.entries, range, settings);
}

const isWhole = ({ entries, count }: ThreadView) => entries.length === count;

/** The sequence numbers of messages older than a view's that trimming may keep, in order. */
function olderOf({ entries, first, newestCompaction = 0 }: ThreadView): number[] {
  const oldest = entries[0]?.sequence ?? 0;
  return [...new Set([first, newestCompaction])].filter((sequence) => sequence > 0 && sequence < oldest);
}

/**
 * @param known the newest `maxMessages` of the thread and the one before them; for `"turns"` also its leading message and its newest
 *   compaction item; other messages if available.
 */
function trimView(
  view: ThreadView,
  known: readonly ThreadEntry[],
  { limit, ...range }: Range,
  { maxMessages, trimming }: Settings,
): ThreadView {
  // Trimmed by position, because the messages between the known ones are not needed.
  const newest = known.findIndex(({ sequence }) => sequence === view.newestCompaction);
  const { bounds } = trim(
    { ...SequenceBounds.EMPTY, next: known.length + 1 },
    maxMessages,
    trimming,
    (position) => known[position - 1]?.kind,
    { ...NOT_SEARCHED, newestCompaction: newest + 1 },
  );
  const kept = known.filter((_, index) => SequenceBounds.isWithin(bounds, index + 1));
  const { before = Number.POSITIVE_INFINITY, after } = boundsAt(view.revision, range);
  const wanted = kept.filter(({ sequence }) => sequence > (after ?? 0) && sequence < before);
  const from = after === undefined ? Math.max(0, wanted.length - limit) : 0;
  return {
    ...view,
    count: kept.length,
    first: kept[0]?.sequence ?? view.last + 1,
    last: kept.at(-1)?.sequence ?? view.last,
    entries: wanted.slice(from, from + limit),
  };
}
