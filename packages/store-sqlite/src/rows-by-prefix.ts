import type { Value, Values } from "./clients/index.ts";
import { fromStored, toStored } from "./statements.ts";

/**
 * Reads at most `limit` rows, in the order of their first column, a name that is stored by {@link toStored}: those whose names begin with `prefix` and come after
 * `after`.
 *
 * @param select reads at most `most` rows from a name on, except one name; `null` for none. An empty buffer is bound as NULL, for which
 *   it must read from the first name that is stored as bytes.
 */
export function rowsByPrefix(
  {
    prefix,
    after,
    limit,
  }: { readonly prefix: string; readonly after: string | undefined; readonly limit: number },
  select: (from: string | Uint8Array, except: Value, most: number) => readonly Values[],
): readonly Values[] {
  const from = after ?? prefix;
  const except = after === undefined ? null : toStored(after);
  const selectOfType = (first: string | Uint8Array, most: number): readonly Values[] => {
    const rows = select(first, except, most);
    // Names of one type with one prefix are adjacent.
    const end = rows.findIndex(
      ([name]) => typeof name !== typeof first || !fromStored(name).startsWith(prefix),
    );
    return end < 0 ? rows : rows.slice(0, end);
  };
  // Names stored as bytes come after all names stored as text.
  const isAmongBytes = from.includes("\0");
  const rows = isAmongBytes ? [] : selectOfType(from, limit);
  if (rows.length === limit) return rows;
  const firstBytes = Buffer.from(isAmongBytes ? from : prefix);
  return [...rows, ...selectOfType(firstBytes, limit - rows.length)];
}
