import { isDate } from "../codec/built-in.ts";

/** Deeper values are cut: frameworks check JSON recursively. */
const MAX_DEPTH = 500;

/**
 * Copies a value as plain JSON. Omits undefined properties. A Date becomes its ISO text, a bigint its digits. Values that JSON
 * does not support (bytes, NaN, class instances, cycles, more than 500 levels) become null.
 *
 * @returns The copy, and whether it differs from the value.
 */
export function plainJson(value: unknown): { value: unknown; isChanged: boolean } {
  const path = new Set<object>();
  let isChanged = false;
  const changed = (replacement: unknown) => {
    isChanged = true;
    return replacement;
  };
  const copy = (one: unknown): unknown => {
    if (one === null || typeof one === "string" || typeof one === "boolean") return one;
    if (typeof one === "number") {
      if (!Number.isFinite(one)) return changed(null);
      return Object.is(one, -0) ? changed(0) : one;
    }
    if (typeof one === "bigint") return changed(String(one));
    if (typeof one !== "object" || path.has(one) || path.size >= MAX_DEPTH) return changed(null);
    if (isDate(one)) return changed(Number.isNaN(one.getTime()) ? null : one.toISOString());
    path.add(one);
    const copied = Array.isArray(one) ? Array.from(one, copy) : copyObject(one);
    path.delete(one);
    return copied;
  };
  const copyObject = (one: object): unknown => {
    const prototype: unknown = Object.getPrototypeOf(one);
    if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return changed(null);
    const entries = Object.entries(one).filter(([, inner]) => inner !== undefined);
    return Object.fromEntries(entries.map(([key, inner]) => [key, copy(inner)]));
  };
  return { value: copy(value), isChanged };
}
