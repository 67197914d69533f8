import type { StoreFactory, StoreIndex } from "@scrollback/store-core";
import { plainIndexOf } from "@scrollback/store-core/internal";

/** The names of indexes that begin with a prefix, each once. */
export async function* indexNames(
  stores: StoreFactory<unknown>,
  prefix: string,
  call: { readonly signal?: AbortSignal },
): AsyncGenerator<string, void, undefined> {
  const seen = new Set<string>();
  const options = { prefix, limit: 1_000, ...call };
  for (let cursor: string | undefined, isLast = false; !isLast; isLast = cursor === undefined) {
    const page = await stores.listIndexes({ ...options, ...(cursor !== undefined && { cursor }) });
    for (const name of page.names) {
      if (seen.has(name)) continue;
      seen.add(name);
      yield name;
    }
    cursor = page.cursor;
  }
}

/** The beginning of the name of the index of a thread's files. */
export const USES = "files:";
/** The beginning of the name of the index of a scope's contents. */
export const CONTENTS = "contents:";

/**
 * An index of any layer. Those of files are not encrypted: they have sizes and keyed ids alone, and what they name can be erased after a
 * key is lost, or replaced by another one.
 */
export function indexIn(stores: StoreFactory<unknown>, name: string): StoreIndex {
  const isOfFiles = name.startsWith(USES) || name.startsWith(CONTENTS);
  return isOfFiles ? plainIndexOf(stores, name) : stores.index(name);
}
