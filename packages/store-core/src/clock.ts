import { setTimeout as sleep } from "node:timers/promises";

/** The clocks of a driver, or of the stores on it. Tests give their own. */
export interface Clock {
  /** Milliseconds since 1970. */
  wall(): number;
  /** Milliseconds that never go back. */
  monotonic(): number;
  /** Waits for at most `ms` milliseconds: a random part of it, so that writers do not come back together. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The clocks of this process. */
export const systemClock: Clock = Object.freeze({
  wall: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms: number, signal?: AbortSignal) {
    await sleep(Math.random() * ms, undefined, signal ? { signal } : undefined);
  },
});
