import {
  formatRevision,
  type ReadRequest,
  SequenceBounds,
  type ThreadView,
} from "@scrollback/store-core/driver";
import type { Head, PageEntry } from "../database.ts";
import { idsOf, isOnly, type LoadedPages, messagesOf } from "./pages.ts";

type Wanted = Pick<ReadRequest, "limit" | "before" | "after" | "metadata">;

/** The entries of the pages that a read needs. */
function entriesFor(head: Head, wanted: SequenceBounds): PageEntry[] {
  const { first, next } = wanted;
  const inHead = new Set(head.pins.map(({ sequence }) => sequence));
  const apart = SequenceBounds.pinnedOf(wanted).filter((sequence) => !inHead.has(sequence));
  const isNeeded = (entry: PageEntry) =>
    (entry.from < next && entry.upto > first) || apart.some((sequence) => isOnly(entry, sequence));
  return head.pages.filter(isNeeded);
}

/** The ids of the pages that a read needs. */
export function pagesFor(head: Head, request: Wanted): string[] {
  const ids = entriesFor(head, SequenceBounds.selectRange(head, request)).flatMap(idsOf);
  return request.metadata && head.metadata && "page" in head.metadata ? [...ids, head.metadata.page] : ids;
}

/** The metadata's record; `""` if its page is missing. */
export function metadataOf({ metadata }: Pick<Head, "metadata">, loaded: LoadedPages): string | undefined {
  if (!metadata) return undefined;
  return "text" in metadata ? metadata.text : (loaded.get(metadata.page)?.messages[0]?.text ?? "");
}

/** The view that a read returns, of a head and the pages that it needs. */
export function viewOf(head: Head, request: Wanted, loaded: LoadedPages): ThreadView {
  const wanted = SequenceBounds.selectRange(head, request);
  const stored = [
    ...head.pins,
    ...entriesFor(head, wanted).flatMap((entry) => messagesOf(entry, loaded)),
    ...head.tail,
  ];
  const found = stored
    .filter(({ sequence }) => SequenceBounds.isWithin(wanted, sequence))
    .sort((one, other) => one.sequence - other.sequence);
  const distinct = found.filter(({ sequence }, index) => sequence !== found[index - 1]?.sequence);
  const metadata = request.metadata ? metadataOf(head, loaded) : undefined;
  const { createdAt, updatedAt, expiresAt } = head;
  return {
    revision: formatRevision(head.incarnation, head.n),
    count: SequenceBounds.countOf(head),
    first: SequenceBounds.firstOf(head),
    last: SequenceBounds.lastOf(head),
    newestCompaction: head.newestCompaction,
    entries: SequenceBounds.withMissing(wanted, distinct),
    createdAt,
    updatedAt,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(metadata !== undefined && { metadata }),
  };
}
