import type { LogRow } from "@scrollback/store-core";

/** Separates the texts of a row in the column `content`: the ASCII record separator, which JSON always escapes. */
const SEPARATOR = "\x1e";
/**
 * Begins an escape sequence of two characters, for characters that a stored text cannot contain: PostgreSQL does not support
 * NUL, and a separator would split the text.
 */
const ESCAPE = "\x1a";
const escapes: Readonly<Record<string, string>> = { "\0": "0", [SEPARATOR]: "1", [ESCAPE]: "2" };
const unescaped = new Map(Object.entries(escapes).map(([character, code]) => [code, character]));

const special = new RegExp(`[\\0${SEPARATOR}${ESCAPE}]`, "g");
const escaped = new RegExp(`${ESCAPE}(.?)`, "gs");

/** The number after the last row, where a range may end. It is exact in JavaScript. */
const LAST_NUMBER = Number.MAX_SAFE_INTEGER + 1;

/** A row of a SELECT with the columns number, head, content, expires_at. */
export type StoredRow = readonly [number: unknown, head: unknown, content: unknown, expiresAt: unknown];

/** Escapes a text for the database. */
export function toText(text: string): string {
  return text.replace(special, (character) => `${ESCAPE}${escapes[character]}`);
}

/** Unescapes a stored text. A damaged escape sequence stays unchanged. */
export function fromText(text: string): string {
  return text.includes(ESCAPE)
    ? text.replace(escaped, (whole, code: string) => unescaped.get(code) ?? whole)
    : text;
}

/** The column `content`: NULL for no texts, "" for one blank text. */
export function toContent(texts: readonly string[]): string | null {
  return texts.length === 0 ? null : texts.map(toText).join(SEPARATOR);
}

/** Most rows have one text and nothing to unescape: a search is faster than a split. */
function toTexts(content: string): string[] {
  const texts = content.includes(SEPARATOR) ? content.split(SEPARATOR) : [content];
  return content.includes(ESCAPE) ? texts.map(fromText) : texts;
}

/** Converts a time or a number to a `bigint` value. A value out of range becomes the nearest one in the range. */
export function toBigint(value: number): number {
  return Math.max(-LAST_NUMBER, Math.min(Math.trunc(value), LAST_NUMBER));
}

/** The parameters of the INSERT. */
export function toValues(stream: string, { number, head, texts, expiresAt }: LogRow): unknown[] {
  const expiry = expiresAt === undefined ? null : toBigint(expiresAt);
  return [toText(stream), number, toText(head), toContent(texts), expiry];
}

/** Converts a stored row. Content that was not selected, or that another program removed, counts as no texts. */
export function toRow([number, head, content, expiresAt]: StoredRow): LogRow {
  return {
    number: Number(number),
    head: fromText(String(head ?? "")),
    texts: typeof content === "string" ? toTexts(content) : [],
    expiresAt: expiresAt === null || expiresAt === undefined ? undefined : Number(expiresAt),
  };
}
