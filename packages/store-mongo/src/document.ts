import { FIRST_ROW, type LogRow, type StreamsRequest } from "@scrollback/record-log";

/** A row of a log as a document of the collection. */
export interface RowDocument {
  /** The stream and the number: see {@link keyOf}. */
  readonly _id: string;
  readonly head: string;
  /** A blanked text is `""`. The array is empty if all texts were blanked. */
  readonly texts: readonly string[];
  /** The field of the TTL index. */
  readonly expiresAt?: Date;
  /** The stream's name, only in roots: the field of the index that lists streams. */
  readonly root?: string;
}

/** The number of digits of the largest safe integer, and of the number after it, where the last range may end. */
const KEY_DIGITS = 16;
/** The latest time that a Date can hold, in milliseconds since 1970. The earliest is its negative. */
const LAST_MOMENT = 8.64e15;

/**
 * Returns the key of a row: the stream (a thread id) with `%` and `:` escaped, then `:`, then the number in fixed width. So
 * the keys of a stream are adjacent and in the order of their numbers, without keys of other streams between them.
 */
export function keyOf(stream: string, number: number): string {
  return `${stream.replace(/[%:]/g, encodeURIComponent)}:${String(number).padStart(KEY_DIGITS, "0")}`;
}

/** The filter for the rows `from` to `to - 1`. */
export function keysFrom(stream: string, from: number, to: number): { $gte: string; $lt: string } {
  return { $gte: keyOf(stream, from), $lt: keyOf(stream, Math.min(to, Number.MAX_SAFE_INTEGER + 1)) };
}

/** Sorts after every possible rest of a name of 1,024 bytes. */
const LAST_NAME = "\u{10ffff}".repeat(257);

/** The filter for names that begin with `prefix` and come after `after`, in byte order. */
export function namesIn({ prefix, after }: Pick<StreamsRequest, "prefix" | "after">): {
  $gte?: string;
  $gt?: string;
  $lt: string;
} {
  return { ...(after === undefined ? { $gte: prefix } : { $gt: after }), $lt: prefix + LAST_NAME };
}

/** Converts a time to a Date. A time out of range becomes the nearest possible one. */
export function toDate(milliseconds: number): Date {
  return new Date(Math.max(-LAST_MOMENT, Math.min(milliseconds, LAST_MOMENT)));
}

export function toDocument(stream: string, { number, head, texts, expiresAt }: LogRow): RowDocument {
  return {
    _id: keyOf(stream, number),
    head,
    texts,
    ...(expiresAt !== undefined && { expiresAt: toDate(expiresAt) }),
    ...(number < FIRST_ROW && { root: stream }),
  };
}

/**
 * Converts a document to a row. Texts are empty if the document was read without them. A field of the wrong type counts as
 * absent, a text of the wrong type as blank.
 */
export function toRow({ _id, head, texts, expiresAt }: Partial<Record<keyof RowDocument, unknown>>): LogRow {
  return {
    number: Number(String(_id).slice(-KEY_DIGITS)),
    head: textOf(head),
    texts: Array.isArray(texts) ? texts.map(textOf) : [],
    expiresAt: expiresAt instanceof Date ? expiresAt.getTime() : undefined,
  };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
