import { nameOf } from "@scrollback/collections";
import { invalid, isId } from "@scrollback/store-core";

/** What the threads of values begin with. */
export const VALUES = "strands:value";

/** The threads of lists, see docs/how-to/bridge-strands.md. */
export const threads = {
  /** The groups that have keys. */
  groups: "strands:groups",
  /** The keys of a group. */
  keys: (group: string) => `strands:keys:${nameOf(group)}`,
  leaf: (id: string) => `strands:leaf:${id}`,
};

/** The keys that have less than two slashes. */
export const ROOT = "";

/**
 * Keys are listed by what they have up to the second slash, which for a session is `session/<id>/`. A prefix with two slashes
 * is in one group.
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
