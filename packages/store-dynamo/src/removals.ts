import { type MessageRecord, SequenceBounds } from "@scrollback/store-core/driver";
import type { Head, Leaving } from "./head.ts";
import { keysOfPage, messageKey, type Page } from "./item.ts";

/** What is known of stored messages near those that a commit trims or drops. */
export interface KnownMessage {
  readonly kind: MessageRecord["kind"];
  readonly page: Page | undefined;
}

/** Thrown by a plan that needs a message that was not read. */
export class NotRead extends Error {
  readonly sequence: number;

  constructor(sequence: number) {
    super("a message must be read first");
    this.sequence = sequence;
  }
}

interface Removal {
  readonly base: Head;
  /** After the drop, and after trimming. */
  readonly kept: SequenceBounds;
  readonly bounds: SequenceBounds;
  readonly removed: readonly { readonly from: number; readonly to: number }[];
  readonly known: ReadonlyMap<number, KnownMessage>;
}

/** How a commit removes messages: pages that it cuts, and the keys of rows; or, if those are too many, what is removed after it. */
export function removals(
  { base, kept, bounds, removed, known }: Removal,
  room: number,
  n: number,
  isReused: boolean,
): { stays: Iterable<Page>; keys: readonly string[]; leaving: readonly Leaving[] } {
  // Not those that are appended and trimmed at once.
  const ranges = removed
    .map(({ from, to }) => ({ from, to: Math.min(to, base.bounds.next) }))
    .filter(({ from, to }) => from < to);
  if (ranges.length === 0) return { stays: [], keys: [], leaving: [] };
  const pageAt = (sequence: number) => {
    if (sequence >= base.paged) return undefined;
    const found = known.get(sequence);
    if (!found) throw new NotRead(sequence);
    return found.page;
  };
  const isKept = (sequence: number) =>
    sequence < kept.next &&
    SequenceBounds.isWithin(kept, sequence) &&
    SequenceBounds.isWithin(bounds, sequence);
  // A page whose last message goes ends at the last one that stays: a pinned one, or the one before a drop.
  const stays = new Map<string, Page>();
  for (const sequence of [...SequenceBounds.pinnedOf(bounds), ...(isReused ? [kept.next - 1] : [])]) {
    const page = isKept(sequence) ? pageAt(sequence) : undefined;
    if (page && !isKept(page.last)) stays.set(page.batch, { ...page, last: sequence });
  }
  // The row of a page under a number that is given again may be written over, before what the page has is removed.
  const later = (): Leaving[] => [
    ...(isReused ? ranges.flatMap(({ from, to }) => batchesIn(from, to, n, kept.next, pageAt)) : []),
    ...ranges.map((range) => ({ ...range, n, isReused: isReused && range.to > kept.next })),
  ];
  const keys: string[] = [];
  if (ranges.reduce((sum, { from, to }) => sum + to - from, 0) > room)
    return { stays: stays.values(), keys, leaving: later() };
  for (const { from, to } of ranges) {
    for (let sequence = from; sequence < to; sequence++) {
      const page = pageAt(sequence);
      if (page) keys.push(...keysOfPage(page, sequence, sequence + 1));
      if (!page || page.last === sequence) keys.push(messageKey(sequence));
    }
  }
  return keys.length > room
    ? { stays: stays.values(), keys: [], leaving: later() }
    : { stays: stays.values(), keys, leaving: [] };
}

/** What pages have of the messages `from` to `to - 1`, if these or the pages' rows are under numbers from `next` on. */
function batchesIn(
  from: number,
  to: number,
  n: number,
  next: number,
  pageAt: (sequence: number) => Page | undefined,
): Leaving[] {
  const batches: Leaving[] = [];
  for (let sequence = from; sequence < to; ) {
    const page = pageAt(sequence);
    const end = page ? Math.min(to, page.last + 1) : sequence + 1;
    if (page && Math.max(page.last, to - 1) >= next)
      batches.push({
        from: sequence - page.from,
        to: end - page.from,
        n,
        isReused: false,
        batch: page.batch,
      });
    sequence = end;
  }
  return batches;
}
