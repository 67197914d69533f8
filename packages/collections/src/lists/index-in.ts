import type { StoreFactory, StoreIndex } from "@scrollback/store-core";
import { plainIndexOf } from "@scrollback/store-core/internal";

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
