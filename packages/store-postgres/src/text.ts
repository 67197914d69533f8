/** The schema of the tables and functions, unless the option `schema` names another one. */
export const DEFAULT_SCHEMA = "scrollback";

/** Quotes an SQL identifier. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Separates the texts of a commit: the ASCII record separator. */
export const SEPARATOR = "\x1e";
/** Begins an escape of two characters, for U+0000, which PostgreSQL's texts cannot hold, and for the separator. */
const ESCAPE = "\x1a";
const escapes: Readonly<Record<string, string>> = { "\0": "0", [SEPARATOR]: "1", [ESCAPE]: "2" };
const unescaped = new Map(Object.entries(escapes).map(([character, code]) => [code, character]));

const special = new RegExp(`[\\0${SEPARATOR}${ESCAPE}]`, "g");
const escaped = new RegExp(`${ESCAPE}(.?)`, "gs");

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

/** Writes an array of texts as one text. */
export function textArray(texts: readonly string[]): string {
  return `{${texts.map((text) => `"${text.replace(/["\\]/g, "\\$&")}"`).join()}}`;
}

/** The number after the last one that is exact in JavaScript. */
const END = Number.MAX_SAFE_INTEGER + 1;

/** Converts a number to a `bigint` value. One out of range becomes the nearest one in the range. */
export function toBigint(value: number): number {
  return Math.max(-END, Math.min(Math.trunc(value), END));
}
