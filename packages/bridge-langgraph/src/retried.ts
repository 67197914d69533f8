import { retryOnConflict } from "@scrollback/store-core";

/**
 * Runs a read and the write that depends on it. Repeats both at most 20 times if another process has written meanwhile. That
 * process made progress, so the pauses stay below 200 ms.
 */
export function retried<T>(write: () => Promise<T>): Promise<T> {
  return retryOnConflict(write, { attempts: 21, longestPause: 3 });
}
