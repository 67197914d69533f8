import { StoreError } from "@scrollback/store-core";
import {
  type MessageRecord,
  NO_THREAD,
  type ReadRequest,
  SequenceBounds,
  type ThreadView,
} from "@scrollback/store-core/driver";
import { pause } from "@scrollback/store-core/internal";
import { aliveHead, type Head, headOf, viewOf } from "./head.ts";
import {
  batchKey,
  HEAD,
  type Item,
  MESSAGES,
  messageKey,
  messageOfItem,
  metadataKey,
  type Page,
  rowOf,
  SORT_KEY,
} from "./item.ts";
import type { Table } from "./table.ts";

/** A read fails if the thread changes during each attempt. */
const ATTEMPTS = 20;

/** A message that was read, and the row that has it: its own, or the page's. */
interface Found {
  readonly message: MessageRecord;
  readonly page: Page | undefined;
  readonly row: { readonly incarnation: string; readonly n: number };
}

/**
 * The messages that were read of a thread. A query is not atomic: it may see a part of a transaction. So the head says which messages
 * must be there, and of which commits they can be.
 */
export class Messages {
  readonly #table: Table;
  readonly #threadId: string;
  readonly #found = new Map<number, Found>();

  constructor(table: Table, threadId: string) {
    this.#table = table;
    this.#threadId = threadId;
  }

  /** The message of a thread with this head; undefined if it was not read. */
  at(sequence: number, head: Head): Found | undefined {
    const found = this.#found.get(sequence);
    return found && isOf(head, found.row, sequence) ? found : undefined;
  }

  /** Reads the messages `first` to `next - 1`: with one query, and one for each page and each further MB. */
  async fetch(head: Head, first: number, next: number): Promise<void> {
    const thread = this.#threadId;
    await this.add(
      head,
      await this.#table.query({ thread, from: messageKey(first), to: messageKey(next - 1) }),
      first,
      next,
    );
    if (next >= head.paged || this.at(next - 1, head)) return;
    // A page that has the last one may go on behind it. Before it may be rows that a commit has yet to remove.
    const behind = { thread, from: messageKey(next), to: messageKey(head.paged - 1) };
    let items = await this.#table.query({ ...behind, limit: 1 });
    if (items.some((item) => !isRowOf(head, rowOf(item)))) items = await this.#table.query(behind);
    await this.add(head, items, first, next);
  }

  /** Adds what a query has read of the messages `first` to `next - 1`, and reads what their pages have of them. */
  async add(head: Head, items: readonly Item[], first: number, next: number): Promise<void> {
    for (const item of items) {
      const row = rowOf(item);
      if (!row || !isRowOf(head, row)) continue;
      if ("batch" in row) await this.#addPage(row, Math.max(first, row.from), Math.min(next, row.last + 1));
      else this.#found.set(row.sequence, { message: row.message, page: undefined, row });
    }
  }

  async #addPage(page: Page, first: number, next: number): Promise<void> {
    if (!(first < next)) return;
    const items = await this.#table.query({
      thread: this.#threadId,
      from: batchKey(page.batch, first - page.from),
      to: `${batchKey(page.batch, next - 1 - page.from)}#~`,
    });
    const parts = Map.groupBy(items, (item) => Number(item[SORT_KEY]?.S?.split("#")[2]));
    for (const [index, some] of parts) {
      const texts = some.map(messageOfItem);
      const [start] = texts;
      if (!start || texts.length !== (page.parts.get(index) ?? 1)) continue;
      const message = { ...start, text: texts.map(({ text }) => text).join("") };
      this.#found.set(page.from + index, { message, page, row: page });
    }
  }

  /** The messages within bounds that were read, in order. */
  within(
    head: Head,
    bounds: SequenceBounds,
  ): { readonly sequence: number; readonly message: MessageRecord }[] {
    const sequences = [...this.#found.keys()].filter((sequence) => SequenceBounds.isWithin(bounds, sequence));
    return sequences
      .sort((a, b) => a - b)
      .flatMap((sequence) => {
        const found = this.at(sequence, head);
        return found ? [{ sequence, message: found.message }] : [];
      });
  }

  /** The numbers within bounds that were not read, as ranges. */
  missing(head: Head, bounds: SequenceBounds): { first: number; next: number }[] {
    const { first, next } = bounds;
    const pinned = SequenceBounds.pinnedOf(bounds).filter((sequence) => !this.at(sequence, head));
    const ranges = pinned.map((sequence) => ({ first: sequence, next: sequence + 1 }));
    let expected = first;
    for (const { sequence } of this.within(head, { ...SequenceBounds.EMPTY, first, next })) {
      if (sequence > expected) ranges.push({ first: expected, next: sequence });
      expected = sequence + 1;
    }
    if (expected < next) ranges.push({ first: expected, next });
    return ranges;
  }
}

const isRowOf = (head: Head, row: ReturnType<typeof rowOf>) =>
  row !== undefined && isOf(head, row, "batch" in row ? row.last : row.sequence);

/** Whether a row of a commit can be that of a message of a thread with this head. */
function isOf(
  head: Head,
  row: { readonly incarnation: string; readonly n: number },
  sequence: number,
): boolean {
  const isDropped = sequence >= head.dropped.from && row.n < head.dropped.n;
  return row.incarnation === head.incarnation && row.n <= head.n && !isDropped;
}

/** Reads a thread: the newest messages with one query, others with one for the head and one for them. */
export async function readThread(
  table: Table,
  request: ReadRequest,
  now: () => number,
  onHead: (item: Item) => void,
): Promise<ThreadView> {
  const { threadId, limit, before, after } = request;
  let messages = new Messages(table, threadId);
  let newest: Item[] = [];
  if (before === undefined && after === undefined) {
    // Two more: the head, and the metadata.
    const most = Number.isFinite(limit) ? { limit: limit + 2 } : {};
    newest = await table.query({
      thread: threadId,
      from: MESSAGES.from,
      to: HEAD,
      direction: "down",
      ...most,
    });
  }
  let item = newest.length > 0 ? newest.find(isHead) : await table.get(threadId, HEAD);
  if (newest.length > 0 && !item) return NO_THREAD;
  let metadata = newest;
  let previous: Head | undefined;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (!item) return NO_THREAD;
    const head = aliveHead(headOf(item), now());
    if (!head) return NO_THREAD;
    onHead(item);
    const bounds = SequenceBounds.selectRange(head.bounds, {
      limit,
      before: before === undefined ? undefined : before + head.offset,
      after: after === undefined ? undefined : after + head.offset,
    });
    if (previous && hasDropped(previous, head)) messages = new Messages(table, threadId);
    if (attempt === 0) await messages.add(head, newest, bounds.first, bounds.next);
    const isLast = previous !== undefined && isSame(previous, head);
    for (const { first, next } of messages.missing(head, bounds)) await messages.fetch(head, first, next);
    if (request.metadata && head.metadata > 0 && !metadataOf(head, metadata)) {
      const found = await table.get(threadId, metadataKey(head.metadata));
      metadata = found ? [found] : [];
    }
    const isWhole = !request.metadata || head.metadata === 0 || metadataOf(head, metadata) !== undefined;
    if (isLast || (isWhole && messages.missing(head, bounds).length === 0)) {
      const entries = messages
        .within(head, bounds)
        .map(({ sequence, message }) => ({ sequence, ...message }));
      return {
        ...viewOf(head),
        entries: SequenceBounds.withMissing(bounds, entries).map(({ sequence, ...message }) => ({
          sequence: sequence - head.offset,
          ...message,
        })),
        // Without its row: an empty record, which is damaged.
        ...(request.metadata && head.metadata > 0 && { metadata: metadataOf(head, metadata) ?? "" }),
      };
    }
    previous = head;
    // What is missing may be a part of a transaction that was not to be seen yet.
    await pause(attempt, undefined, table.clock);
    item = await table.get(threadId, HEAD);
  }
  throw new StoreError("UNAVAILABLE", "dynamodb: the thread changed during each attempt to read it", {
    retryable: true,
  });
}

const isHead = (item: Item) => item[SORT_KEY]?.S === HEAD;
const isSame = (one: Head, other: Head) =>
  one.incarnation === other.incarnation && one.version === other.version;
/** Whether messages that were read may have been replaced by others of the same numbers. */
const hasDropped = (before: Head, { incarnation, dropped }: Head) =>
  before.incarnation === incarnation && dropped.n > before.n;

function metadataOf(head: Head, items: readonly Item[]): string | undefined {
  const row = items.find((item) => item[SORT_KEY]?.S === metadataKey(head.metadata));
  return row?.inc?.S === head.incarnation ? row.text?.S : undefined;
}
