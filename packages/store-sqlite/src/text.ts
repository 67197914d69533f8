import type { SQLInputValue, SQLOutputValue } from "node:sqlite";

/**
 * Returns the stored form of a text: the text itself, or its bytes if it contains a NUL character. Some supported versions of
 * Node end a text at the first NUL when they read it.
 */
export function toStored(text: string): string | Uint8Array {
  return text.includes("\0") ? Buffer.from(text) : text;
}

/** Returns the text of a stored value; empty if the value is not a text. */
export function fromStored(stored: SQLOutputValue | undefined): string {
  if (typeof stored === "string") return stored;
  return stored instanceof Uint8Array ? Buffer.from(stored).toString() : "";
}

/**
 * Reads at most `limit` rows, in the order of a name that is stored by {@link toStored}: those whose names begin with `prefix` and come after
 * `after`.
 *
 * @param select reads at most `most` rows from a name on, except one name; `null` for none. An empty buffer is bound as NULL, for which
 *   it must read from the first name that is stored as bytes.
 */
export function rowsByPrefix<R>(
  {
    prefix,
    after,
    limit,
  }: { readonly prefix: string; readonly after: string | undefined; readonly limit: number },
  nameOf: (row: R) => SQLOutputValue | undefined,
  select: (from: string | Uint8Array, except: SQLInputValue, most: number) => R[],
): R[] {
  const from = after ?? prefix;
  const except = after === undefined ? null : toStored(after);
  const selectOfType = (first: string | Uint8Array, most: number): R[] => {
    const rows = select(first, except, most);
    // Names of one type with one prefix are adjacent.
    const end = rows.findIndex((row) => {
      const name = nameOf(row);
      return typeof name !== typeof first || !fromStored(name).startsWith(prefix);
    });
    return end < 0 ? rows : rows.slice(0, end);
  };
  // Names stored as bytes come after all names stored as text.
  const isAmongBytes = from.includes("\0");
  const rows = isAmongBytes ? [] : selectOfType(from, limit);
  if (rows.length === limit) return rows;
  const firstBytes = Buffer.from(isAmongBytes ? from : prefix);
  return [...rows, ...selectOfType(firstBytes, limit - rows.length)];
}
