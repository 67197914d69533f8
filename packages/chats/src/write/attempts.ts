import { StoreError } from "@scrollback/store-core";
import { retry } from "@scrollback/store-core/internal";
import { OutdatedError } from "../read/chat-view.ts";

/** The retries of a write that loses to other writers: 21 attempts, with pauses that grow to 0.4 s. */
export const RETRIES = { attempts: 21, longestPause: 4 };

/** Repeats a write while other writers are first. `attempt` gets the number of lost attempts. @throws StoreError `CONFLICT`. */
export function whileOutdated<T>(
  method: string,
  attempt: (lost: number) => Promise<T>,
  options: Pick<NonNullable<Parameters<typeof retry>[1]>, "signal" | "isFirstCached" | "exhausted">,
): Promise<T> {
  return retry(attempt, {
    ...RETRIES,
    isRetryable: (error) => error instanceof OutdatedError,
    exhausted: (_, attempts) =>
      new StoreError("CONFLICT", `${method}: other writers committed first ${attempts} times; try again`),
    ...options,
  });
}

/** Repeats a write while the store is unreachable, for at most `ms`. `write` gets the number of failed attempts. Calls `onRetry` before the first repetition. */
export function untilReachable(
  write: (made: number) => Promise<void>,
  ms: number,
  onRetry: (error: unknown) => void,
): Promise<void> {
  const end = performance.now() + ms;
  const isRetryable = (error: unknown, made: number) => {
    if (!StoreError.is(error, "UNAVAILABLE") || performance.now() >= end) return false;
    if (made === 1) onRetry(error);
    return true;
  };
  return retry(write, { isRetryable, longestPause: RETRIES.longestPause });
}
