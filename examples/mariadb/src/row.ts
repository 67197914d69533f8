import type { LogRow } from "@scrollback/record-log";

/** Separates the texts of a row in the column `content`. UTF-8 does not have this byte. */
export const SEPARATOR = 0xff;

/** The number after the last row, where a range may end. It is exact in JavaScript. */
const LAST_NUMBER = Number.MAX_SAFE_INTEGER + 1;

/** A row of a SELECT with the columns number, head, content, expires_at. */
export type StoredRow = readonly [number: unknown, head: unknown, content: unknown, expiresAt: unknown];

/** A value of a statement. Texts are bytes: no setting of a client or a session changes how these are written and compared. */
export type Value = Buffer | number | null;

export const toBytes = (text: string): Buffer => Buffer.from(text);

/** The text of a column of bytes. A column that another program emptied is an empty text. */
export const fromBytes = (value: unknown): string => (value instanceof Buffer ? value.toString() : "");

/** The column `content`: NULL for no texts, no bytes for one blank text. */
export function toContent(texts: readonly string[]): Buffer | null {
  if (texts.length === 0) return null;
  const separator = Buffer.of(SEPARATOR);
  return Buffer.concat(
    texts.flatMap((text, at) => (at === 0 ? [toBytes(text)] : [separator, toBytes(text)])),
  );
}

function toTexts(content: Buffer): string[] {
  const texts: string[] = [];
  let start = 0;
  for (let end = content.indexOf(SEPARATOR); end >= 0; end = content.indexOf(SEPARATOR, start)) {
    texts.push(content.toString("utf8", start, end));
    start = end + 1;
  }
  return [...texts, content.toString("utf8", start)];
}

/** Converts a time or a number to a `bigint` value. A value out of range becomes the nearest one in the range. */
export function toBigint(value: number): number {
  return Math.max(-LAST_NUMBER, Math.min(Math.trunc(value), LAST_NUMBER));
}

/** A time or NULL. */
export const toExpiry = (expiresAt: number | undefined): number | null =>
  expiresAt === undefined ? null : toBigint(expiresAt);

/** The parameters of the INSERT. */
export function toValues(stream: string, { number, head, texts, expiresAt }: LogRow): Value[] {
  return [toBytes(stream), number, toBytes(head), toContent(texts), toExpiry(expiresAt)];
}

/** Converts a stored row. Content that was not selected, or that another program removed, counts as no texts. */
export function toRow([number, head, content, expiresAt]: StoredRow): LogRow {
  return {
    number: Number(number),
    head: fromBytes(head),
    texts: content instanceof Buffer ? toTexts(content) : [],
    expiresAt: expiresAt === null || expiresAt === undefined ? undefined : Number(expiresAt),
  };
}
