import { StoreError } from "./errors.ts";

/** Returns the problem with a value, as the end of a sentence that begins with the value's name; undefined for a valid value. */
export type Check = (value: unknown) => string | undefined;

/** @throws StoreError `INVALID_ARGUMENT` with `message`. */
export function invalid(message: string): never {
  throw new StoreError("INVALID_ARGUMENT", message);
}

/**
 * Checks an options object: only known keys, each with its check. A key whose value is undefined counts as absent.
 *
 * @throws StoreError `INVALID_ARGUMENT`; the message names `owner`, the option and the valid values.
 */
export function checkOptions(owner: string, options: unknown, checks: Readonly<Record<string, Check>>): void {
  if (options === undefined) return;
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    invalid(`${owner}: options must be an object`);
  }
  // Inherited options would be used without a check. Objects of another realm have another prototype.
  const prototype: unknown = Object.getPrototypeOf(options);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    invalid(`${owner}: options must be a plain object`);
  }
  for (const key of Object.keys(options)) {
    const check = Object.hasOwn(checks, key) ? checks[key] : undefined;
    if (!check)
      invalid(`${owner}: unknown option "${key}"; known options are ${Object.keys(checks).join(", ")}`);
    const value = (options as Record<string, unknown>)[key];
    const problem = value === undefined ? undefined : check(value);
    if (problem) invalid(`${owner}: ${key} ${problem}`);
  }
}

const MAX_ID_BYTES = 1_024;

/** A non-empty, well-formed string of at most 1,024 bytes: thread ids, operation ids. */
export const isId: Check = (value) => {
  if (typeof value !== "string" || value === "") return "must be a non-empty string";
  if (!value.isWellFormed()) return "must be well-formed Unicode (it has a lone surrogate)";
  return Buffer.byteLength(value) > MAX_ID_BYTES
    ? `must be at most ${MAX_ID_BYTES} bytes of UTF-8`
    : undefined;
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
export const LONGEST_TTL_MS = 36_500 * DAY_MS;

/** The time from a write to the thread's expiry. */
export const isTtl: Check = (value) =>
  isPositiveInteger(value) ??
  (Number(value) > LONGEST_TTL_MS ? "must be at most 36,500 days (in milliseconds)" : undefined);

/** An integer of 0 or more. */
export const isCount: Check = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? undefined : "must be an integer of 0 or more";

export const isString: Check = (value) =>
  typeof value === "string" && value !== "" ? undefined : "must be a non-empty string";

export const isBoolean: Check = (value) => (typeof value === "boolean" ? undefined : "must be true or false");

export const isFunction: Check = (value) => (typeof value === "function" ? undefined : "must be a function");

export const isObject: Check = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? undefined : "must be an object";

/** One of a few strings. */
export const isOneOf =
  (...values: readonly string[]): Check =>
  (value) =>
    values.includes(value as string) ? undefined : `must be ${values.map((one) => `"${one}"`).join(" or ")}`;

/** An object with these methods. */
export const hasMethods =
  (...names: readonly string[]): Check =>
  (value) =>
    isObject(value) ??
    (names.every((name) => typeof (value as Record<string, unknown>)[name] === "function")
      ? undefined
      : `must have the methods ${names.join(", ")}`);

/** An AbortSignal of any realm. */
export const isSignal: Check = (value) =>
  value instanceof AbortSignal ||
  hasMethods("addEventListener", "removeEventListener", "throwIfAborted")(value) === undefined
    ? undefined
    : "must be an AbortSignal";
