import { isPlainObject } from "./codec.ts";

/**
 * A value without lone surrogates in its texts: they become U+FFFD. Plain objects and arrays are copied if something in them changes;
 * other objects, such as bytes, are kept.
 */
export function wellFormed<T>(value: T): T;
export function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) {
    const made = value.map((one) => wellFormed(one));
    return made.some((one, index) => one !== value[index]) ? made : value;
  }
  if (typeof value !== "object" || value === null || !isPlainObject(value)) return value;
  const entries = Object.entries(value);
  const made = entries.map(([name, one]) => [name.toWellFormed(), wellFormed(one)] as const);
  const isChanged = made.some(
    ([name, one], index) => name !== entries[index]?.[0] || one !== entries[index]?.[1],
  );
  return isChanged ? Object.fromEntries(made) : value;
}
