import { StoreError } from "@scrollback/store-core";

/** The default time in milliseconds within which an asynchronous callback of the application must finish. */
export const CALLBACK_MS = 10_000;

/**
 * The result of a callback of the application that may return a promise. After `ms` milliseconds its signal is aborted, and a
 * result that comes later is ignored.
 *
 * @throws what the callback throws, and StoreError `UNAVAILABLE` after `ms` milliseconds.
 */
export async function callWithin<T>(
  ms: number,
  name: string,
  callback: (signal: AbortSignal) => T | PromiseLike<T>,
): Promise<T> {
  const controller = new AbortController();
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new StoreError("UNAVAILABLE", `${name}: did not finish within ${ms} ms`);
    reject(error);
    controller.abort(error);
  }, ms);
  try {
    return await Promise.race([callback(controller.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}
