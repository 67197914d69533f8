import { inspect } from "node:util";
import { jsonCodec } from "@scrollback/store-core";

/**
 * Characters that a terminal interprets, or that change how others are shown: controls, direction, line separators, surrogates.
 */
const dangerous = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
/** An id of these characters needs no quotes in any shell, and is unambiguous. */
const safe = /^[\p{L}\p{N}_@%:,./+][\p{L}\p{N}\p{M}_@%:,./+-]*$/u;
/** Invisible characters, spaces except U+0020, and characters that Bash interprets inside `$'…'` or before it. */
const unseen = /[\p{C}\p{DI}\u2800\\'!]|(?! )\p{Z}/gu;
/** Letters that are invisible. */
const blank = /\p{DI}/u;

/** Text for a terminal: control characters are escaped, except line feeds and tabs. */
export function printableText(text: string): string {
  return text.replace(dangerous, (character) => (/[\n\t]/.test(character) ? character : escaped(character)));
}

/** Text for one line of a terminal: like {@link printableText}, but line feeds and tabs are escaped too. */
export function printableLine(text: string): string {
  return text.replace(dangerous, escaped);
}

/** A value for one line of a terminal: as JSON, or in Node.js's format if JSON cannot represent it. */
export function printableValue(value: unknown): string {
  const text = jsonCodec.encode(value);
  const isJson = !text.startsWith("~");
  return printableLine(
    isJson ? text : inspect(value, { depth: null, breakLength: Number.POSITIVE_INFINITY }),
  );
}

/**
 * A thread id for one line of a terminal, in a form that a shell reads as that id: unchanged, or as `$'…'`, which Bash and zsh
 * accept in any locale. No argument can contain a NUL, so an id with one is a JSON string, which `--ids-from` accepts.
 */
export function printableId(threadId: string): string {
  if (threadId.includes("\0")) return `"${threadId.replace(/[^\w]/g, asJson)}"`;
  if (safe.test(threadId) && !blank.test(threadId)) return threadId;
  return `$'${threadId.replace(unseen, asBytes)}'`;
}

/** A value as one line of JSON without characters that a terminal interprets. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(dangerous, (character) => character.replace(/[\s\S]/g, asJson));
}

function asJson(unit: string): string {
  return `\\u${hex(unit.charCodeAt(0), 4)}`;
}

/** Escapes a character as UTF-8 bytes: Bash interprets other escapes by the locale. */
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
