import { inspect } from "node:util";
import { jsonCodec } from "@scrollback/store-core";

/** Characters that a terminal acts upon, or that change how others are shown: controls, direction, line separators, halves. */
const dangerous = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
/** In an id all that cannot be seen. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/u;
const unseenOrQuote = new RegExp(`${unseen.source}|[\\\\']`, "gu");

/** Text for a terminal: control characters are shown escaped, but line feeds and tabs stay. */
export function printableText(text: string): string {
  return text.replace(dangerous, (character) => (/[\n\t]/.test(character) ? character : escaped(character)));
}

/** Text for one line of a terminal: as {@link printableText}, and line feeds and tabs are escaped, too. */
export function printableLine(text: string): string {
  return text.replace(dangerous, escaped);
}

/** A value for one line of a terminal: as JSON, or what JSON does not carry as Node.js shows it. */
export function printableValue(value: unknown): string {
  const text = jsonCodec.encode(value);
  const isJson = !text.startsWith("~");
  return printableLine(
    isJson ? text : inspect(value, { depth: null, breakLength: Number.POSITIVE_INFINITY }),
  );
}

/**
 * A thread id for a terminal, on one line. One with characters that cannot be seen is in the form `$'…'`, which Bash and zsh
 * take as an argument; only that form begins with `$'`.
 */
export function printableId(threadId: string): string {
  if (!unseen.test(threadId) && !threadId.startsWith("$'") && threadId.trim() === threadId) return threadId;
  return `$'${threadId.replace(unseenOrQuote, (one) => (/[\\']/.test(one) ? `\\${one}` : escaped(one)))}'`;
}

/** A value as one line of JSON that a terminal does not act upon. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(dangerous, (character) =>
    [...Array(character.length).keys()].map((index) => `\\u${hex(character.charCodeAt(index), 4)}`).join(""),
  );
}

function escaped(character: string): string {
  const point = character.codePointAt(0) ?? 0;
  if (point < 0x80) return `\\x${hex(point, 2)}`;
  return point > 0xffff ? `\\U${hex(point, 8)}` : `\\u${hex(point, 4)}`;
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, "0");
}
