import { isClassPrototype } from "./built-in.ts";

/** The maximum depth of nesting. A deeper value would exhaust the reader's stack. */
export const MAX_DEPTH = 1_000;

/**
 * Keys that JSON writes with an escape. V8 in Node 24 misreads such a key after certain others (nodejs/node#63785), so
 * keys are never written with an escape.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what JSON escapes
export const escapedKey = /["\\\u0000-\u001f\ud800-\udfff]/;

/** The key under which an object's JSON lists the nulls that represent undefined. */
const UNDEFINED_KEY = "~undefined";
/**
 * In JSON text these characters end a key: within a string the quote would be escaped. The search begins with a rare character,
 * not with a quote, because then it takes a third of the time.
 */
const UNDEFINED_MARK = `${UNDEFINED_KEY}":`;

/** Reads the JSON of a value of {@link toPlain}. @throws SyntaxError or TypeError for any other text. */
export function parsePlain(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (text.includes(UNDEFINED_MARK)) restoreUndefined(value);
  return value;
}

/**
 * Keys that are known to need no escape. Bounded, because an application may use data as keys.
 */
const plainKeys = new Set<string>();
const MAX_PLAIN_KEYS = 1_000;
const MAX_PLAIN_KEY_LENGTH = 64;

function isPlainKey(key: string): boolean {
  if (plainKeys.has(key)) return true;
  if (escapedKey.test(key) || key === UNDEFINED_KEY) return false;
  if (plainKeys.size < MAX_PLAIN_KEYS && key.length <= MAX_PLAIN_KEY_LENGTH) plainKeys.add(key);
  return true;
}

/**
 * The value to pass to JSON.stringify: the value itself, or a copy that lists the undefined properties within it.
 * Undefined if JSON does not support the value.
 *
 * @param depth the level of the value.
 */
export function toPlain(value: unknown, depth: number): unknown {
  if (typeof value === "string" || typeof value === "boolean" || value === null) return value;
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0) ? value : undefined;
  if (typeof value !== "object" || depth > MAX_DEPTH) return undefined;
  if (Object.getOwnPropertySymbols(value).length > 0) return undefined;
  return Array.isArray(value)
    ? arrayToJson(value, depth)
    : objectToJson(value as Record<string, unknown>, depth);
}

function arrayToJson(value: readonly unknown[], depth: number): unknown {
  const prototype: object | null = Object.getPrototypeOf(value);
  if (prototype !== Array.prototype && !isClassPrototype("Array", prototype)) return undefined;
  let copy: unknown[] | undefined;
  for (let index = 0; index < value.length; index++) {
    const inner = value[index];
    // A hole is undefined, too.
    const json = toPlain(inner, depth + 1);
    if (json === undefined) return undefined;
    if (json === inner) continue;
    copy ??= [...value];
    copy[index] = json;
  }
  // There are no holes, so additional keys are named properties.
  return Object.keys(value).length === value.length ? (copy ?? value) : undefined;
}

function objectToJson(value: Record<string, unknown>, depth: number): unknown {
  const prototype: object | null = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && !isClassPrototype("Object", prototype)) return undefined;
  let copy: Record<string, unknown> | undefined;
  let absent: string[] | undefined;
  for (const key of Object.keys(value)) {
    if (!isPlainKey(key)) return undefined;
    const inner = value[key];
    if (typeof inner === "string") continue;
    if (inner === undefined) {
      absent ??= [];
      absent.push(key);
    }
    const json = inner === undefined ? null : toPlain(inner, depth + 1);
    if (json === undefined) return undefined;
    if (json === inner) continue;
    copy ??= { ...value };
    copy[key] = json;
  }
  if (copy && absent) copy[UNDEFINED_KEY] = absent;
  return copy ?? value;
}

function restoreUndefined(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const inner of Object.values(value)) restoreUndefined(inner);
  if (Array.isArray(value) || !Object.hasOwn(value, UNDEFINED_KEY)) return;
  const fields = value as Record<string, unknown>;
  const absent = fields[UNDEFINED_KEY];
  delete fields[UNDEFINED_KEY];
  if (!Array.isArray(absent)) throw new TypeError("undefined properties must be a list");
  for (const key of absent) {
    if (typeof key !== "string" || !Object.hasOwn(fields, key) || fields[key] !== null)
      throw new TypeError("unknown undefined property");
    fields[key] = undefined;
  }
}
