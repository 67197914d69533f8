import { pause } from "@scrollback/store-core";

/** The maximum number of attempts of a write that loses to other writers. */
export const MAX_ATTEMPTS = 20;

/** Waits for a random time of at most 0.4 s after a lost attempt (from 0). @throws StoreError `ABORTED`. */
export const pauseAfter = (attempt: number, signal?: AbortSignal) => pause(Math.min(attempt, 4), signal);
