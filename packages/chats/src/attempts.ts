import { pause } from "@scrollback/store-core";

/** The maximum number of attempts of a write that loses to other writers. */
export const MAX_ATTEMPTS = 20;
/** Pauses stop growing after this many, at 0.4 s. */
export const LONGEST_PAUSE = 4;

/** Waits for a random time after a lost attempt (from 0). @throws StoreError `ABORTED`. */
export const pauseAfter = (attempt: number, signal?: AbortSignal) =>
  pause(Math.min(attempt, LONGEST_PAUSE), signal);
