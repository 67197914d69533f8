import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { MessageRecord } from "@scrollback/store-core/driver";

/**
 * The items of a thread, under its id, in the order of their sort keys:
 *
 * - `batch#<id>#<index>#<part>`: a message of a batch that is too large for one transaction, or a part of it.
 * - `m#<sequence>`: a message; or a page, the messages up to this one, which are in a batch.
 * - `meta#<commit>`: the metadata that this commit set.
 * - `~head`: the head, see head.ts. It is last, so that one query from the end reads it with the newest messages.
 */
export type Item = Record<string, AttributeValue>;

export const PARTITION_KEY = "thread";
export const SORT_KEY = "item";
/** When DynamoDB may delete the item, in seconds since 1970. Absent: never. */
export const TTL_ATTRIBUTE = "x";
/** Only in heads of threads that are not deleted: the partition key of {@link THREAD_INDEX}. */
export const SHARD_ATTRIBUTE = "shard";
/** The sparse index that lists threads: it has their heads alone. */
export const THREAD_INDEX = "threads";

export const HEAD = "~head";
/** Before the first message, and behind the last one. */
export const MESSAGES = { from: "m#", to: "m#~" } as const;
/** Before the first item, and behind the last one. */
export const ALL = { from: "!", to: "~~" } as const;

const digits = (number: number, length: number) => String(number).padStart(length, "0");
export const messageKey = (sequence: number) => `m#${digits(sequence, 12)}`;
export const metadataKey = (commit: number) => `meta#${digits(commit, 12)}`;
export const batchKey = (batch: string, index: number, part?: number) =>
  `batch#${batch}#${digits(index, 6)}${part === undefined ? "" : `#${digits(part, 4)}`}`;

/** The commit that wrote a row: its incarnation, and its number. */
export interface Written {
  readonly incarnation: string;
  readonly n: number;
}

export interface MessageRow extends Written {
  readonly sequence: number;
  readonly message: MessageRecord;
}

/** The messages `from` to `last`, which are in a batch. */
export interface Page extends Written {
  readonly from: number;
  readonly last: number;
  readonly batch: string;
  /** The number of parts of each message that has several, by its index in the batch. */
  readonly parts: ReadonlyMap<number, number>;
}

interface MetadataRow extends Written {
  readonly metadata: string;
}

export type Row = MessageRow | Page | MetadataRow;

/** An item has at most 400 KB: the text of a message or of its part, the key of at most 1.1 KB, and a reserve. */
export const MAX_TEXT_BYTES = 384 * 1024;

/** Milliseconds as seconds, rounded up, so that no item is deleted before its time. */
export function toSeconds(milliseconds: number): AttributeValue.NMember {
  return { N: String(Math.ceil(milliseconds / 1_000)) };
}

export const expiryOf = (until: number | undefined): Item =>
  until === undefined ? {} : { [TTL_ATTRIBUTE]: toSeconds(until) };

export function keyOf(thread: string, item: string): Item {
  return { [PARTITION_KEY]: { S: thread }, [SORT_KEY]: { S: item } };
}

const number = (value: number): AttributeValue => ({ N: String(value) });

export function itemOfRow(thread: string, row: Row, until: number | undefined): Item {
  const written: Item = { inc: { S: row.incarnation }, n: number(row.n), ...expiryOf(until) };
  if ("metadata" in row)
    return { ...keyOf(thread, metadataKey(row.n)), text: { S: row.metadata }, ...written };
  if ("message" in row)
    return { ...keyOf(thread, messageKey(row.sequence)), ...attributesOf(row.message), ...written };
  const parts = [...row.parts].map(([index, count]) => [String(index), number(count)] as const);
  return {
    ...keyOf(thread, messageKey(row.last)),
    ...{ batch: { S: row.batch }, from: number(row.from), ...written },
    ...(parts.length > 0 && { parts: { M: Object.fromEntries(parts) } }),
  };
}

/** The items of a message of a batch: one, or several parts. */
export function itemsOfBatch(
  thread: string,
  batch: string,
  index: number,
  message: MessageRecord,
  until: number | undefined,
): Item[] {
  return partsOf(message.text).map((text, part) => ({
    ...keyOf(thread, batchKey(batch, index, part)),
    ...attributesOf({ ...message, text }),
    ...expiryOf(until),
  }));
}

/** A text in parts that each fit into an item. */
export function partsOf(text: string): string[] {
  const bytes = Buffer.from(text);
  const parts: string[] = [];
  for (let from = 0; from < bytes.length || from === 0; ) {
    let to = Math.min(from + MAX_TEXT_BYTES, bytes.length);
    // Not within a character.
    while (to < bytes.length && ((bytes[to] ?? 0) & 0xc0) === 0x80) to--;
    parts.push(bytes.toString("utf8", from, to));
    if (to === from) break;
    from = to;
  }
  return parts;
}

function attributesOf({ kind, createdAt, text }: MessageRecord): Item {
  return { kind: { S: kind }, at: number(createdAt), text: { S: text } };
}

export const messageOfItem = ({ kind, at, text }: Item): MessageRecord => ({
  kind: (kind?.S ?? "") as MessageRecord["kind"],
  createdAt: Number(at?.N),
  text: text?.S ?? "",
});

/** The row of a message or a page; undefined for another item. A damaged one is of no commit. */
export function rowOf(item: Item): MessageRow | Page | undefined {
  const [, digits] = /^m#(\d{12})$/.exec(item[SORT_KEY]?.S ?? "") ?? [];
  if (digits === undefined) return undefined;
  const written = { incarnation: item.inc?.S ?? "", n: Number(item.n?.N) };
  const { batch, from, parts } = item;
  if (batch?.S === undefined) return { ...written, sequence: Number(digits), message: messageOfItem(item) };
  const counts = Object.entries(parts?.M ?? {}).map(
    ([index, count]) => [Number(index), Number(count.N)] as const,
  );
  return { ...written, batch: batch.S, from: Number(from?.N), last: Number(digits), parts: new Map(counts) };
}

/** The keys of the items of a page's messages `from` to `to - 1`. */
export function keysOfPage(page: Page, from: number, to: number): string[] {
  const keys: string[] = [];
  for (let sequence = Math.max(from, page.from); sequence < Math.min(to, page.last + 1); sequence++) {
    const index = sequence - page.from;
    for (let part = 0; part < (page.parts.get(index) ?? 1); part++)
      keys.push(batchKey(page.batch, index, part));
  }
  return keys;
}
