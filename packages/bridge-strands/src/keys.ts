import { nameOf } from "@scrollback/collections";
import { invalid, isId } from "@scrollback/store-core";

/** The prefix of the values' thread ids. */
export const VALUES = "strands:value";

/** The threads of lists, see docs/how-to/bridge-strands.md. */
export const threads = {
  /** The groups that have keys. */
  groups: "strands:groups",
  /** The keys of a group. */
  keys: (group: string) => `strands:keys:${nameOf(group)}`,
  leaf: (id: string) => `strands:leaf:${id}`,
};

/** The group of keys with fewer than two slashes. */
export const ROOT = "";

/**
 * The group of a key or a prefix: the text up to its second slash, inclusive. For a session it is `session/<id>/`. All keys with
 * a prefix that has two slashes are in one group.
 */
export function groupOf(keyOrPrefix: string): string {
  const second = keyOrPrefix.indexOf("/", keyOrPrefix.indexOf("/") + 1);
  return keyOrPrefix.includes("/") && second !== -1 ? keyOrPrefix.slice(0, second + 1) : ROOT;
}

/** @throws StoreError `INVALID_ARGUMENT`. */
export function checkKey(method: string, key: unknown): asserts key is string {
  const problem = isId(key);
  if (problem) invalid(`${method}: key ${problem}`);
}
