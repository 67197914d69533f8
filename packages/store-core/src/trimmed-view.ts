import { boundsAt, type CursorRange } from "./cursor.ts";
import type { Driver, ReadRequest, ThreadView } from "./driver.ts";
import { kindOfRecord } from "./record.ts";
import {
  countOf,
  firstOf,
  isWithin,
  lastOf,
  type SequenceBounds,
  selectRange,
  type Trimming,
  trim,
} from "./trimming.ts";

/** The bounds of a view. */
function boundsOf({ count, first, last }: ThreadView): SequenceBounds {
  if (count === 0) return { pinned: null, first: last + 1, next: last + 1 };
  return count === last - first + 1
    ? { pinned: null, first, next: last + 1 }
    : { pinned: first, first: last - count + 2, next: last + 1 };
}

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
 * Makes no request if `view` has the whole thread. Otherwise it makes one read of the newest `maxMessages`, and with
 * `"turns"` a second read of the leading message. If another writer commits between the two, it retries up to three
 * times, then reads the whole thread at once. The signal is checked before each request.
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
    const window = await read(maxMessages);
    if (isWhole(window) || trimming === "exact") return trimView(window, window.entries, range, settings);
    const leading = await read(1, 0);
    if (leading.revision !== window.revision) continue;
    return trimView(window, [...leading.entries, ...window.entries], range, settings);
  }
  const whole = await read(Number.POSITIVE_INFINITY);
  return trimView(whole, whole.entries, range, settings);
}

const isWhole = ({ entries, count }: ThreadView) => entries.length === count;

/** @param known the newest `maxMessages` of the thread and, for `"turns"`, its leading message; other messages if available. */
function trimView(
  view: ThreadView,
  known: ThreadView["entries"],
  range: Range,
  { maxMessages, trimming }: Settings,
): ThreadView {
  const entries = new Map(known.map((entry) => [entry.sequence, entry]));
  const { bounds } = trim(boundsOf(view), maxMessages, trimming, (sequence) =>
    kindOfRecord(entries.get(sequence)?.record ?? ""),
  );
  const wanted = selectRange(bounds, { limit: range.limit, ...boundsAt(view.revision, range) });
  return {
    ...view,
    count: countOf(bounds),
    first: firstOf(bounds),
    last: lastOf(bounds),
    entries: [...entries.values()].filter((entry) => isWithin(wanted, entry.sequence)),
  };
}
