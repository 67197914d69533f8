import { nameOf } from "@scrollback/collections";
import { isId } from "@scrollback/store-core/driver";
import { checkValue } from "@scrollback/store-core/internal";

/** The prefix of the values' thread ids. */
export const VALUES = "strands:value";

/** The prefix of the names of all indexes, see docs/how-to/bridges.md. */
export const INDEXES = "strands:keys:";

/** The index of a key: that of its group. */
export function indexOf(key: string): string {
  return `${INDEXES}${nameOf(groupOf(key) ?? "")}`;
}

/**
 * The group of a key or a prefix: the text up to its second slash, inclusive. For a session it is `session/<id>/`. All keys with
 * a prefix that has two slashes are in one group. Undefined for less than two slashes.
 */
export function groupOf(keyOrPrefix: string): string | undefined {
  const first = keyOrPrefix.indexOf("/");
  const second = first === -1 ? -1 : keyOrPrefix.indexOf("/", first + 1);
  return second === -1 ? undefined : keyOrPrefix.slice(0, second + 1);
}

/** Whether an index, by its name, can have keys with a prefix of less than two slashes. */
export function mayHave(index: string, prefix: string): boolean {
  const name = index.slice(INDEXES.length);
  // The keys with less than two slashes, and a name that is hashed because it is long.
  return name === "" || name.startsWith("#") || name.startsWith(encodeURIComponent(prefix));
}

/** @throws StoreError `INVALID_ARGUMENT`. */
export function checkKey(method: string, key: unknown): asserts key is string {
  checkValue(method, "key", isId, key);
}
