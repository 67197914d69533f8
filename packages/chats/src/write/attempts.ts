import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "@scrollback/store-core";
import { pause } from "@scrollback/store-core/internal";

/** The maximum number of attempts of a write that loses to other writers. */
export const MAX_ATTEMPTS = 20;
/** Pauses stop growing after this many, at 0.4 s. */
export const LONGEST_PAUSE = 4;

/** The pause before the next attempt when the store is unreachable. */
const UNREACHABLE_MS = 250;

/** Waits for a random time after a lost attempt (from 0). @throws StoreError `ABORTED`. */
export const pauseAfter = (attempt: number, signal?: AbortSignal) =>
  pause(Math.min(attempt, LONGEST_PAUSE), signal);

/** Repeats a write while the store is unreachable, for at most `ms`. Calls `onRetry` before the first repetition. */
export async function untilReachable(
  write: () => Promise<void>,
  ms: number,
  onRetry: (error: unknown) => void,
): Promise<void> {
  const end = performance.now() + ms;
  for (let attempt = 0; ; attempt++) {
    try {
      return await write();
    } catch (error) {
      if (!StoreError.is(error, "UNAVAILABLE") || performance.now() + UNREACHABLE_MS > end) throw error;
      if (attempt === 0) onRetry(error);
    }
    await sleep(UNREACHABLE_MS);
  }
}
