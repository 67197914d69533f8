import { invalid, isObject } from "@scrollback/store-core/driver";
import { isCount } from "@scrollback/store-core/internal";

/** @throws StoreError `INVALID_ARGUMENT` for a value that is not an object. */
export function checkObject(what: string, value: unknown, fix: string): void {
  const problem = isObject(value);
  if (problem) invalid(`${what} ${problem}; ${fix}`);
}

/** @throws StoreError `INVALID_ARGUMENT` for an invalid limit. */
export function checkLimit(what: string, limit: unknown): void {
  if (limit === undefined || limit === Number.POSITIVE_INFINITY) return;
  const problem = isCount(limit);
  if (problem) invalid(`${what} ${problem}; leave it out for the default`);
}
