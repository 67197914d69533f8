import { StoreError } from "@scrollback/store-core";
import { isId } from "@scrollback/store-core/driver";

/** The maximum size of a namespace's path. Twice as long, which escapes may make it, it still is a whole prefix in DynamoDB's index. */
export const MAX_NAMESPACE_BYTES = 480;
const MAX_KEY_BYTES = 1_024;

/** The place of an item. Labels have no periods and are not empty, as LangGraph requires. */
export interface Place {
  readonly namespace: readonly string[];
  readonly key: string;
}

/** The labels of a namespace, each followed by a period: the beginning of the keys of all items below it, and of no others. */
export function pathOf(namespace: readonly string[]): string {
  return namespace.map((label) => `${label}.`).join("");
}

/**
 * The key of an item in the index: the path of its namespace, a period, and its own key. So the items below a namespace are one range
 * of the index, and the items in it are one range of that.
 */
export function sortedKey({ namespace, key }: Place): string {
  return `${pathOf(namespace)}.${key}`;
}

/** Why an item cannot be listed; undefined if it can. */
export function placeProblem(place: Place): string | undefined {
  const problem = place.namespace.map(isId).find((one) => one !== undefined);
  if (problem !== undefined) return `namespace has a label that ${problem}`;
  if (Buffer.byteLength(pathOf(place.namespace)) > MAX_NAMESPACE_BYTES)
    return `namespace must be at most ${MAX_NAMESPACE_BYTES} bytes, with one more for each label`;
  const ofKey = isId(place.key);
  if (ofKey !== undefined) return `key ${ofKey}`;
  if (Buffer.byteLength(sortedKey(place)) > MAX_KEY_BYTES)
    return `key must be at most ${MAX_KEY_BYTES} bytes, with those of the namespace and one more for each label and the key`;
  return undefined;
}

/** The place of an item, of its {@link sortedKey}. */
export function placeOf(sorted: string): Place {
  const end = sorted.indexOf("..");
  if (end < 1) throw new StoreError("CORRUPT", `the entry of item "${sorted}" is damaged`);
  return { namespace: sorted.slice(0, end).split("."), key: sorted.slice(end + 2) };
}

/** The lowest text above the keys of all items in a namespace, and below those of the namespaces after it. */
export function afterItemsOf(path: string): string {
  return `${path}/`;
}

/** The lowest text above the keys of all items below a path that is not empty; `""` for the empty one. */
export function afterAllBelow(path: string): string {
  // The character after the period.
  return path === "" ? "" : `${path.slice(0, -1)}/`;
}
