import { byteLength } from "#runtime";
import { StoreError } from "./errors.ts";

/**
 * Returns the problem with a value, as the end of a sentence that begins with the value's name; undefined for a valid value. The problem
 * with a part of the value begins with the part: `[2] must be …`, `.name must be …`.
 */
export type Check = (value: unknown) => string | undefined;

/** @throws StoreError `INVALID_ARGUMENT` with `message`. */
export function invalid(message: string): never {
  throw new StoreError("INVALID_ARGUMENT", message);
}

/**
 * Checks one value, which the message calls `name`.
 *
 * @throws StoreError `INVALID_ARGUMENT`; the message names `owner`, the value and what it must be.
 */
export function checkValue(owner: string, name: string, check: Check, value: unknown): void {
  const problem = check(value);
  if (problem) invalid(`${owner}: ${name}${/^[.[]/.test(problem) ? "" : " "}${problem}`);
}

/**
 * Checks an options object: only known keys, each with its check. A key whose value is undefined counts as absent, and so do absent
 * options. The keys in `required` must be present.
 *
 * @throws StoreError `INVALID_ARGUMENT`; the message names `owner`, the option and the valid values.
 */
export function checkOptions(
  owner: string,
  options: unknown,
  checks: Readonly<Record<string, Check>>,
  required: readonly string[] = [],
): void {
  if (options === undefined && required.length === 0) return;
  // Inherited options would be used without a check.
  const given: unknown = options === undefined ? {} : options;
  checkValue(owner, "options", isPlainObject, given);
  for (const key of [...Object.keys(given as object), ...required]) {
    const check = Object.hasOwn(checks, key) ? checks[key] : undefined;
    if (!check)
      invalid(`${owner}: unknown option "${key}"; known options are ${Object.keys(checks).join(", ")}`);
    const value: unknown = Reflect.get(given as object, key);
    if (value !== undefined || required.includes(key)) checkValue(owner, key, check, value);
  }
}

const MAX_ID_BYTES = 1_024;

/** A non-empty, well-formed string of at most 1,024 bytes: thread ids, operation ids. */
export const isId: Check = (value) => {
  if (typeof value !== "string" || value === "") return "must be a non-empty string";
  if (!value.isWellFormed()) return "must be well-formed Unicode (it has a lone surrogate)";
  return byteLength(value) > MAX_ID_BYTES ? `must be at most ${MAX_ID_BYTES} bytes of UTF-8` : undefined;
};

/** A positive integer. */
export const isPositiveInteger: Check = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 1 ? undefined : "must be a positive integer";

/** An integer from 1 to `most`. */
export const isIntegerUpTo =
  (most: number): Check =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= most
      ? undefined
      : `must be an integer from 1 to ${most}`;

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Milliseconds of a timer: a longer one would run at once. */
export const isTimerMs: Check = (value) =>
  isPositiveInteger(value) ??
  (Number(value) > LONGEST_TIMER_MS ? "must be at most 2,147,483,647 milliseconds" : undefined);

const DAY_MS = 24 * 60 * 60 * 1_000;
/** Beyond this, backends represent times differently. */
/** The longest `ttlMs`: 36,500 days. */
const LONGEST_TTL_MS = 36_500 * DAY_MS;

/** The time from a write to the thread's expiry. */
export const isTtl: Check = (value) =>
  (isPositiveInteger(value) && "must be a positive integer, in milliseconds") ??
  (Number(value) > LONGEST_TTL_MS ? "must be at most 36,500 days (in milliseconds)" : undefined);

/** An integer of 0 or more. */
export const isCount: Check = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? undefined : "must be an integer of 0 or more";

export const isString: Check = (value) =>
  typeof value === "string" && value !== "" ? undefined : "must be a non-empty string";

/** Any string, an empty one too. */
export const isText: Check = (value) => (typeof value === "string" ? undefined : "must be a string");

export const isBoolean: Check = (value) => (typeof value === "boolean" ? undefined : "must be true or false");

export const isFunction: Check = (value) => (typeof value === "function" ? undefined : "must be a function");

export const isObject: Check = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? undefined : "must be an object";

/** An object without a class: of one with a class, such as a Map, parts would be lost. Objects of another realm have another prototype. */
export const isPlainObject: Check = (value) => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "must be an object";
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null
    ? undefined
    : "must be a plain object";
};

/** One of a few strings. */
export const isOneOf =
  (...values: readonly string[]): Check =>
  (value) =>
    values.includes(value as string) ? undefined : `must be ${values.map((one) => `"${one}"`).join(" or ")}`;

/** An object with these methods. */
export const hasMethods =
  (...names: readonly string[]): Check =>
  (value) => {
    if (isObject(value)) return `must be an object with the methods ${names.join(", ")}`;
    return names.every((name) => typeof Reflect.get(value as object, name) === "function")
      ? undefined
      : `must have the methods ${names.join(", ")}`;
  };

/** A store factory. If trimming would delete `needed`, one that never trims. */
export const isStoreFactory =
  (needed?: string): Check =>
  (value) => {
    if (hasMethods("withTraits")(value)) return "must be a store factory";
    const { settings } = value as { readonly settings?: { readonly maxMessages?: number } };
    return needed === undefined || settings?.maxMessages === undefined
      ? undefined
      : `must not have maxMessages, which would delete ${needed}; use a factory without it`;
  };

/** An AbortSignal of any realm. */
export const isSignal: Check = (value) =>
  value instanceof AbortSignal ||
  hasMethods("addEventListener", "removeEventListener", "throwIfAborted")(value) === undefined
    ? undefined
    : "must be an AbortSignal";

/** The beginning of names of tables of SQLite, which treats "Chat_" and "chat_" as the same name. @param reserved what it may not begin with. */
export function isTablePrefix(...reserved: readonly string[]): Check {
  const alternatives = reserved.map((one) => `"${one}"`).join(" or ");
  const problem = `must be 1 to 64 of a-z, 0-9 and _, no digit first, and not begin with ${alternatives}`;
  return (value) =>
    typeof value === "string" &&
    /^[a-z_][a-z0-9_]{0,63}$/.test(value) &&
    !reserved.some((one) => value.startsWith(one))
      ? undefined
      : problem;
}
