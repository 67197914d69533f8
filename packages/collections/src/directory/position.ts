/**
 * The name of one member of a directory, in one or more parts. Members with the same order number are sorted by these
 * parts.
 */
export type Key = readonly string[];

/** `"desc"` lists the highest order number first, `"asc"` the lowest. */
export type Direction = "desc" | "asc";

/** The position of a member in a directory. */
export interface Position {
  /** The number that the directory is sorted by, for example a time. */
  readonly order: number;
  readonly key: Key;
}

/** Highest order number first, ties by key. */
export function compareNewest(a: Position, b: Position): number {
  return b.order - a.order || compareKeys(a.key, b.key);
}

/** Lowest order number first, ties by key. */
export function compareOldest(a: Position, b: Position): number {
  return a.order - b.order || compareKeys(a.key, b.key);
}

/** Compares part by part, by UTF-16 code units. A key sorts before the longer keys that begin with it. */
export function compareKeys(a: Key, b: Key): number {
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    const [left, right] = [a[index], b[index]];
    if (left === right) continue;
    if (left === undefined || right === undefined) return left === undefined ? -1 : 1;
    return left < right ? -1 : 1;
  }
  return 0;
}

/** A key as one string. No two keys give the same one. */
export function keyText({ key }: Pick<Position, "key">): string {
  return JSON.stringify(key);
}
