import type { MessageRecord } from "../codec/record.ts";
import type { MessageKind } from "../codec/record-location.ts";
import { type Range, SequenceBounds } from "./bounds.ts";

/**
 * How a history is trimmed to `maxMessages`.
 *
 * - `"turns"`: keeps a history that a model's API accepts. Keeps and counts a leading system message (if `maxMessages` is at
 *   least 2) and the newest compaction item. The kept tail starts at the earliest user message among the newest messages
 *   that fit. Without a user message it starts at the earliest message that is not a tool result and that does not follow
 *   a tool call or a message of reasoning alone. Otherwise it starts behind the last of these, so it may be empty.
 * - `"exact"`: keeps exactly the newest `maxMessages`.
 */
export type Trimming = (typeof trimmings)[number];

/** All values of {@link Trimming}. */
export const trimmings = Object.freeze(["turns", "exact"] as const);

/**
 * What is known about a thread's messages. A driver keeps it with the thread, so that trimming asks for the kind of no message
 * twice: a thread may be at its limit without a user message, as in a long run of tools.
 */
export interface TrimSearch {
  /** The messages from `first` to `userless - 1` are not user messages. */
  readonly userless: number;
  /** The messages from `first` to `startless - 1` cannot begin the kept tail, unless they are user messages. */
  readonly startless: number;
  /** The sequence number of the thread's newest compaction item, also if it is not pinned; 0: there is none. */
  readonly newestCompaction: number;
}

/** For a thread that was never written. */
export const NOT_SEARCHED: TrimSearch = Object.freeze({ userless: 1, startless: 1, newestCompaction: 0 });

/** What remains when a thread is cut to `maxMessages`. Asks for the kinds of as few messages as possible. */
export function trim(
  bounds: SequenceBounds,
  maxMessages: number | undefined,
  trimming: Trimming,
  kindAt: (sequence: number) => MessageKind | undefined,
  search = NOT_SEARCHED,
): { readonly bounds: SequenceBounds; readonly search: TrimSearch } {
  if (maxMessages === undefined || SequenceBounds.countOf(bounds) <= maxMessages) return { bounds, search };
  const { first, next, compaction } = bounds;
  if (trimming === "exact") return trimExactly(bounds, maxMessages, search);
  const { newestCompaction } = search;
  let leading: MessageKind | undefined;
  const kindOf = (sequence: number) => {
    if (sequence !== first) return kindAt(sequence);
    leading ??= kindAt(first);
    return leading;
  };
  let pinned: number | null = null;
  if (maxMessages >= 2) {
    pinned = bounds.pinned ?? (compaction === null && kindOf(first) === "s" ? first : null);
  }
  let cut = next - maxMessages + (pinned === null ? 0 : 1);
  if (newestCompaction > 0 && newestCompaction < cut) cut += 1;
  const found = findStart(first, cut, next, kindOf, search);
  const isPinned = newestCompaction > 0 && newestCompaction < found.start;
  return {
    bounds: { pinned, compaction: isPinned ? newestCompaction : null, first: found.start, next },
    search: { userless: found.userless, startless: found.startless, newestCompaction },
  };
}

function trimExactly({ compaction, first, next }: SequenceBounds, maxMessages: number, search: TrimSearch) {
  // The newest messages of a thread with two pinned ones may include the second.
  const isPinned = compaction !== null && next - maxMessages < first;
  const start = isPinned ? first : next - maxMessages;
  const isLost = !isPinned && search.newestCompaction < start;
  return {
    bounds: { pinned: null, compaction: isPinned ? compaction : null, first: start, next },
    search: isLost ? { ...search, newestCompaction: 0 } : search,
  };
}

/** Whether a message of this kind bears a tool result. */
const bearsResult = (kind: MessageKind | undefined) => kind === "t" || kind === "b";
/** Whether the next message belongs to a message of this kind. */
const isContinued = (kind: MessageKind | undefined) => kind === "c" || kind === "b";

/** The start of the kept tail, of the messages from `cut` to `next - 1`. */
function findStart(
  first: number,
  cut: number,
  next: number,
  kindAt: (sequence: number) => MessageKind | undefined,
  search: TrimSearch,
): { start: number; userless: number; startless: number } {
  let userless = Math.max(cut, search.userless);
  let startless = Math.max(cut, search.startless);
  while (userless < next && kindAt(userless) !== "u") userless++;
  if (userless < next) return { start: userless, userless, startless: search.startless };
  // A pinned message before the first one makes no call.
  let follows = startless < next && startless > first && isContinued(kindAt(startless - 1));
  for (; startless < next; startless++) {
    const kind = kindAt(startless);
    if (!follows && !bearsResult(kind)) return { start: startless, userless, startless };
    follows = isContinued(kind);
  }
  // A message that cannot begin the tail bears a result or follows a call: only the newest one can be behind the last of both.
  const newest = cut < next ? kindAt(next - 1) : "t";
  const start = bearsResult(newest) || isContinued(newest) ? next : next - 1;
  // Not searched: the message before it is trimmed, so it may begin the tail next time.
  return { start, userless, startless: start };
}

/** The effect of a commit on a thread's sequence numbers. */
export interface CommitPlan {
  /** The bounds after the drop, before anything is appended. */
  readonly kept: SequenceBounds;
  /** The bounds after the commit. Appended messages have the numbers from `kept.next` on. */
  readonly bounds: SequenceBounds;
  /**
   * The numbers that are no longer within the bounds: of stored messages, which the driver removes, and of appended ones, which it does not
   * write. Empty for a commit that neither drops nor trims, as most do: all appended messages are then written.
   */
  readonly removed: readonly Range[];
  /** For the plan of the next commit. */
  readonly search: TrimSearch;
}

const NOTHING: readonly Range[] = Object.freeze([]);

/**
 * Plans a commit. The numbers of messages that are dropped from the end are reused: the driver removes before it appends. After a drop of
 * `"all"` numbering continues, so that a waiting reader misses nothing.
 *
 * @param change what is dropped, and the messages that are appended.
 * @param kindAt returns the kind of a stored message that is kept by the drop, by its sequence number; undefined for a missing one.
 * @param search from the plan of the thread's last commit.
 */
export function planCommit(
  bounds: SequenceBounds,
  change: { readonly drop: number | "all"; readonly append: readonly Pick<MessageRecord, "kind">[] },
  limits: { readonly maxMessages: number | undefined; readonly trimming: Trimming },
  kindAt: (sequence: number, kept: SequenceBounds) => MessageKind | undefined,
  search = NOT_SEARCHED,
): CommitPlan {
  const { drop, append } = change;
  const kept = drop === 0 ? bounds : dropFrom(bounds, drop);
  const { pinned, compaction, first } = kept;
  // Not spread: SQLite's bounds are a row, and copying its other columns takes longer than the plan.
  const grown = { pinned, compaction, first, next: kept.next + append.length };
  const kindOf = (sequence: number) => {
    const message = append[sequence - kept.next];
    return message === undefined ? kindAt(sequence, kept) : message.kind;
  };
  const known = {
    // The numbers of dropped messages are used again. What cannot begin the tail comes before `first`, which no drop passes.
    userless: Math.min(search.userless, kept.next),
    startless: search.startless,
    newestCompaction: newestCompactionIn(kept, grown.next, kindOf, search),
  };
  const { maxMessages, trimming } = limits;
  const after =
    maxMessages === undefined
      ? { bounds: grown, search: known }
      : trim(grown, maxMessages, trimming, kindOf, known);
  const dropped = drop === 0 ? NOTHING : SequenceBounds.rangesOutside(bounds, kept);
  const removed =
    after.bounds === grown ? dropped : [...dropped, ...SequenceBounds.rangesOutside(grown, after.bounds)];
  return { kept, bounds: after.bounds, removed, search: after.search };
}

/** Looks at the appended messages, and at older ones only if the one that was known has been dropped. */
function newestCompactionIn(
  kept: SequenceBounds,
  next: number,
  kindOf: (sequence: number) => MessageKind | undefined,
  { newestCompaction: known }: TrimSearch,
): number {
  const isKept = known === 0 || SequenceBounds.isWithin(kept, known);
  const oldest = isKept ? kept.next : kept.first;
  for (let sequence = next - 1; sequence >= oldest; sequence--) if (kindOf(sequence) === "k") return sequence;
  return isKept ? known : (kept.compaction ?? 0);
}

function dropFrom({ pinned, compaction, first, next }: SequenceBounds, drop: number | "all"): SequenceBounds {
  if (drop === "all") return { pinned: null, compaction: null, first: next, next };
  const left = next - first - drop;
  if (left >= 0) return { pinned, compaction, first, next: next - drop };
  return { pinned: left === -1 && compaction !== null ? pinned : null, compaction: null, first, next: first };
}
