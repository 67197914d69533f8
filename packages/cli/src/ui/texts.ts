import { inspect } from "node:util";
import { encodeText } from "../formats/entry.ts";
import { shownTime } from "../output/figures.ts";
import { printableLine, printableText } from "../output/terminal-text.ts";
import type { CutText } from "./api-types.ts";

/** The maximum of one text on the page, in characters. The raw record has the whole one. */
const MAX_TEXT = 8_000;
const MAX_LINE = 500;
/** JSON of at most this length is not indented. */
const ONE_LINE = 100;

/** The beginning of a text. */
export function cutText(text: string): CutText {
  if (text.length <= MAX_TEXT) return { text: printableText(text) };
  return { text: printableText(text.slice(0, MAX_TEXT)), cutFrom: text.length };
}

/** The beginning of a text, for one line. */
export function cutLine(text: string): string {
  return printableLine(text.length <= MAX_LINE ? text : `${text.slice(0, MAX_LINE)}…`);
}

/** The beginning of any value. */
export function cutValue(value: unknown): CutText {
  if (typeof value === "string") return cutText(value);
  const text = encodeText(value);
  if (text.startsWith("~")) return cutText(inspect(value, { depth: null }));
  return cutText(text.length <= ONE_LINE ? text : JSON.stringify(JSON.parse(text), null, 2));
}

/** A foreign value that should be a text: any value may stand there, also one that cannot be made a text. */
export function shownText(value: unknown): string {
  return typeof value === "string" ? value : cutValue(value).text;
}

/** The text of a field of a foreign value; undefined if it has none. */
export function textIn(value: unknown, ...names: readonly string[]): string | undefined {
  const fields = Object(value) as Record<string, unknown>;
  const found = names.map((name) => (Object.hasOwn(fields, name) ? fields[name] : undefined));
  return found.find((one): one is string => typeof one === "string" && one !== "");
}

/** A name of an id of a layer, as the caller gave it. */
export function decodeName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** A time of foreign content, which may be any number. */
export function shownTimeOf(milliseconds: number): string {
  return Number.isNaN(new Date(milliseconds).getTime()) ? String(milliseconds) : shownTime(milliseconds);
}
