import { StoreError, type StoreFactory } from "@scrollback/store-core";
import { isUnfinishedCopy } from "@scrollback/store-core/internal";

/** A message or the metadata of a thread. */
type StorableValue = { readonly message: unknown } | { readonly metadata: unknown };

/** Returns why a value cannot be stored, as the end of a sentence that begins with its name; undefined if it can. */
export type StorableCheck = (value: StorableValue) => Promise<string | undefined>;

/** The check of what a thread of these stores can hold, with their codec and the limits of their backend. Makes no request. */
export function storableIn(target: StoreFactory<unknown>): StorableCheck {
  const store = target.open("checked");
  // A store checks and encodes everything before it sends a request, which an aborted signal prevents.
  const signal = AbortSignal.abort();
  return async (value) => {
    if ("metadata" in value) {
      // A commit would remove the metadata, and a copy would take the thread for an unfinished one.
      if (value.metadata == null) return "must not be null; leave it out";
      if (isUnfinishedCopy(value.metadata))
        return 'must not have the key "scrollback.copy", which an unfinished copy has';
    }
    const change = "message" in value ? { append: [value.message] } : value;
    try {
      await store.commit(change, { signal });
      return undefined;
    } catch (error) {
      if (StoreError.is(error, "ABORTED")) return undefined;
      if (!StoreError.is(error, "TOO_LARGE") && !StoreError.is(error, "INVALID_ARGUMENT")) throw error;
      return error.message.replace(/^(messages\[0\]|metadata): /, "");
    }
  };
}
