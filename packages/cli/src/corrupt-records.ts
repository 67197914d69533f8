import { AsyncLocalStorage } from "node:async_hooks";
import type { StoreError } from "@scrollback/store-core";

const collectors = new AsyncLocalStorage<(error: StoreError) => void>();

/** The `onCorruptRecord` of every factory that the CLI opens: reports to the collector of the current call, or throws. */
export function onCorruptRecord(error: StoreError): void {
  const collect = collectors.getStore();
  if (!collect) throw error;
  collect(error);
}

/** Makes a call that skips unreadable records and reports each to `collect`. */
export function skippingCorruptRecords<T>(
  collect: (error: StoreError) => void,
  call: () => Promise<T>,
): Promise<T> {
  return collectors.run(collect, call);
}
