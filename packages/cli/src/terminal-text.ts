import { inspect } from "node:util";
import { jsonCodec } from "@scrollback/store-core";

/** Characters that a terminal acts upon, or that change how others are shown: controls, direction, line separators, halves. */
const dangerous = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
/** An id of these needs no quotes in any shell, and nothing in it looks like something else. */
const safe = /^[\p{L}\p{N}_@%:,./+][\p{L}\p{N}\p{M}_@%:,./+-]*$/u;
/** All that cannot be seen, spaces but the usual one, and what Bash acts upon inside `$'…'` or before it. */
const unseen = /[\p{C}\p{DI}\u2800\\'!]|(?! )\p{Z}/gu;
/** Letters that show nothing. */
const blank = /\p{DI}/u;

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
 * A thread id for a terminal, on one line, in a form that a shell takes as that id: as it is, or as `$'…'`, which Bash and zsh
 * take in any locale. No argument can hold a NUL, so an id with one is a JSON string, which `--ids-from` takes.
 */
export function printableId(threadId: string): string {
  if (threadId.includes("\0")) return `"${threadId.replace(/[^\w]/g, asJson)}"`;
  if (safe.test(threadId) && !blank.test(threadId)) return threadId;
  return `$'${threadId.replace(unseen, asBytes)}'`;
}

/** A value as one line of JSON that a terminal does not act upon. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(dangerous, (character) => character.replace(/[\s\S]/g, asJson));
}

function asJson(unit: string): string {
  return `\\u${hex(unit.charCodeAt(0), 4)}`;
}

/** As UTF-8: in other escapes Bash goes by the locale. */
function asBytes(character: string): string {
  if (!character.isWellFormed()) return asJson(character);
  return [...Buffer.from(character)].map((byte) => `\\x${hex(byte, 2)}`).join("");
}

function escaped(character: string): string {
  const point = character.codePointAt(0) ?? 0;
  if (point < 0x80) return `\\x${hex(point, 2)}`;
  return point > 0xffff ? `\\U${hex(point, 8)}` : `\\u${hex(point, 4)}`;
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, "0");
}
