import type { LogRow } from "@scrollback/store-core";

/** A row of a log as its collection holds it. */
export interface RowDocument {
  /** The stream and the number, see {@link keyOf}. */
  readonly _id: string;
  readonly head: string;
  /** `""` stands where a text was blanked; where all were, there are none. */
  readonly texts: readonly string[];
  /** What the TTL index looks at. */
  readonly expiresAt?: Date;
}

/** Every safe integer has at most so many digits. */
const KEY_DIGITS = 16;
/** The last moment that a Date can tell. */
const LAST_MOMENT = 8.64e15;

/**
 * The key of a row: the stream, `:`, the number in fixed width, so that the keys of a stream lie side by side in the order
 * of their numbers. No stream has a `:` left in it, so the keys of another stream never lie among them.
 */
export function keyOf(stream: string, number: number): string {
  return `${stream.replace(/[%:]/g, encodeURIComponent)}:${String(number).padStart(KEY_DIGITS, "0")}`;
}

/** The filter for the rows `from` to `to`, inclusive. */
export function keysFrom(stream: string, from: number, to: number): { $gte: string; $lte: string } {
  return { $gte: keyOf(stream, from), $lte: keyOf(stream, Math.min(to, Number.MAX_SAFE_INTEGER)) };
}

export function toDate(milliseconds: number): Date {
  return new Date(Math.min(milliseconds, LAST_MOMENT));
}

export function toDocument(stream: string, { number, head, texts, expiresAt }: LogRow): RowDocument {
  return {
    _id: keyOf(stream, number),
    head,
    texts,
    ...(expiresAt !== undefined && { expiresAt: toDate(expiresAt) }),
  };
}

/**
 * Reads a document back; one that was asked for without its texts has none. What is of another kind than it must be is as
 * if it were not there, a text as if it were blank.
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
