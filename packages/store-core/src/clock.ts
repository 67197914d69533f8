import { setTimeout as sleep } from "node:timers/promises";

/** The clocks of a driver or of its stores. Tests pass their own. */
export interface Clock {
  /** Milliseconds since 1970. */
  wall(): number;
  /** Milliseconds that never decrease. */
  monotonic(): number;
  /** Waits for a random time of at most `ms` milliseconds, so that writers do not retry together. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `run` once, `ms` milliseconds from now, and keeps the process alive until then. Returns a function that cancels it. */
  timer(ms: number, run: () => void): () => void;
}

/** The clocks of this process. */
export const systemClock: Clock = Object.freeze({
  wall: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms: number, signal?: AbortSignal) {
    await sleep(Math.random() * ms, undefined, signal ? { signal } : undefined);
  },
  timer(ms: number, run: () => void) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
});
