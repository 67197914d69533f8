import type { LogRow } from "@scrollback/store-core";

/** Joins the texts of a row in its column `content`; ASCII's record separator, which no JSON text has unescaped. */
const SEPARATOR = "\x1e";
/**
 * Begins two characters that stand for one which a text cannot hold: PostgreSQL has no NUL, and a separator would split the
 * text in two.
 */
const ESCAPE = "\x1a";
const escapes: Readonly<Record<string, string>> = { "\0": "0", [SEPARATOR]: "1", [ESCAPE]: "2" };
const unescaped = new Map(Object.entries(escapes).map(([character, code]) => [code, character]));

const special = new RegExp(`[\\0${SEPARATOR}${ESCAPE}]`, "g");
const escaped = new RegExp(`${ESCAPE}(.?)`, "gs");

/** The number after the last row, where a range may end. JavaScript holds it exactly. */
const LAST_NUMBER = Number.MAX_SAFE_INTEGER + 1;

/** A row as a SELECT of the columns number, head, content, expires_at returns it. */
export type StoredRow = readonly [number: unknown, head: unknown, content: unknown, expiresAt: unknown];

/** A text as the database holds it. */
export function toText(text: string): string {
  return text.replace(special, (character) => `${ESCAPE}${escapes[character]}`);
}

/** Reads a text back. A damaged escape stays as it is. */
export function fromText(text: string): string {
  return text.includes(ESCAPE)
    ? text.replace(escaped, (whole, code: string) => unescaped.get(code) ?? whole)
    : text;
}

/** The column `content`: NULL stands for no texts, "" for one blank text. */
export function toContent(texts: readonly string[]): string | null {
  return texts.length === 0 ? null : texts.map(toText).join(SEPARATOR);
}

/** A time or a number as a `bigint`. Those out of range become the nearest one in it. */
export function toBigint(value: number): number {
  return Math.max(-LAST_NUMBER, Math.min(Math.trunc(value), LAST_NUMBER));
}

/** The parameters of the INSERT. */
export function toValues(stream: string, { number, head, texts, expiresAt }: LogRow): unknown[] {
  const expiry = expiresAt === undefined ? null : toBigint(expiresAt);
  return [toText(stream), number, toText(head), toContent(texts), expiry];
}

/** Reads a row back. Content that was not selected, or that another program removed, counts as no texts. */
export function toRow([number, head, content, expiresAt]: StoredRow): LogRow {
  return {
    number: Number(number),
    head: fromText(String(head ?? "")),
    texts: typeof content === "string" ? content.split(SEPARATOR).map(fromText) : [],
    expiresAt: expiresAt === null || expiresAt === undefined ? undefined : Number(expiresAt),
  };
}
