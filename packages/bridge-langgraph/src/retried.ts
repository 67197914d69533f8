import { retryOnConflict } from "@scrollback/store-core";

/** At most 20 repetitions. The other process made progress, so the pauses stay below 200 ms. */
export const RETRIES = { attempts: 21, longestPause: 3 };

/** Runs a read and the write that depends on it. Repeats both if another process has written meanwhile. */
export function retried<T>(write: () => Promise<T>): Promise<T> {
  return retryOnConflict(write, RETRIES);
}
