import { AsyncLocalStorage } from "node:async_hooks";
import type { StoreError } from "@scrollback/store-core";

const collectors = new AsyncLocalStorage<(error: StoreError) => void>();

/** The `onCorruptRecord` of every factory that the CLI opens: tells the collector of the call at hand, or throws. */
export function onCorruptRecord(error: StoreError): void {
  const collect = collectors.getStore();
  if (!collect) throw error;
  collect(error);
}

/** Makes a call that passes over records that cannot be read, and tells `collect` of each. */
export function passingCorruptRecords<T>(
  collect: (error: StoreError) => void,
  call: () => Promise<T>,
): Promise<T> {
  return collectors.run(collect, call);
}
