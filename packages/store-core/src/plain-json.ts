/** Deeper nesting than this is refused: it would exhaust the stack of whoever reads it. */
export const MAX_DEPTH = 1_000;

/**
 * Keys that JSON writes with an escape. V8 in Node 24 reads such a key wrongly after certain others (nodejs/node#63785),
 * so no key is ever written with one.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what JSON escapes
export const escapedKey = /["\\\u0000-\u001f\ud800-\udfff]/;

/** Under this key an object's JSON lists those of its nulls that stand for undefined, which JSON has not. */
const UNDEFINED_KEY = "~undefined";
/** In JSON's text these characters are nothing but that key: in a string the quotes would be escaped. */
const UNDEFINED_MARK = `"${UNDEFINED_KEY}":`;

/** Writes a value as JSON, as nearly every message can be; undefined for one that JSON does not carry. */
export function stringifyPlain(value: unknown): string | undefined {
  const json = toJson(value, 1);
  return json === undefined ? undefined : JSON.stringify(json);
}

/** Reads what {@link stringifyPlain} wrote. @throws SyntaxError or TypeError for any other text. */
export function parsePlain(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (text.includes(UNDEFINED_MARK)) restoreUndefined(value);
  return value;
}

/**
 * What JSON.stringify is to be given: the value, or where a property within is undefined a copy that lists it. Undefined
 * where JSON does not carry the value.
 */
function toJson(value: unknown, depth: number): unknown {
  if (typeof value === "string" || typeof value === "boolean" || value === null) return value;
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0) ? value : undefined;
  if (typeof value !== "object" || depth > MAX_DEPTH) return undefined;
  const isArray = Array.isArray(value);
  const prototype = isArray ? Array.prototype : Object.prototype;
  if (Object.getPrototypeOf(value) !== prototype || Object.getOwnPropertySymbols(value).length > 0) {
    return undefined;
  }
  const keys = Object.keys(value);
  // Named properties come last: with as many keys as elements the last key tells of holes and names.
  if (isArray && (keys.length !== value.length || (keys.at(-1) ?? "-1") !== `${value.length - 1}`)) {
    return undefined;
  }
  return toJsonObject(value as Record<string, unknown>, keys, depth);
}

function toJsonObject(value: Record<string, unknown>, keys: readonly string[], depth: number): unknown {
  const isArray = Array.isArray(value);
  let copy: Record<string, unknown> | undefined;
  let absent: string[] | undefined;
  for (const key of keys) {
    if (!isArray && (escapedKey.test(key) || key === UNDEFINED_KEY)) return undefined;
    const inner = value[key];
    const isUndefined = inner === undefined && !isArray;
    if (isUndefined) {
      absent ??= [];
      absent.push(key);
    }
    const json = isUndefined ? null : toJson(inner, depth + 1);
    if (json === undefined) return undefined;
    if (json === inner) continue;
    copy ??= (isArray ? [...value] : { ...value }) as Record<string, unknown>;
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
