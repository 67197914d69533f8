import { unrefTimer } from "@scrollback/store-core";

/** The clocks, timers and random numbers that directories use. Tests and simulations supply their own. */
export interface DirectoryClock {
  /** Milliseconds since 1970. */
  wall(): number;
  /** Milliseconds that never go back. */
  monotonic(): number;
  /**
   * Calls `run` once, `ms` milliseconds from now. Keeps the process alive until then, except with `unref`. Returns a function
   * that cancels it.
   */
  timer(ms: number, run: () => void, options?: { readonly unref: boolean }): () => void;
  /** A random number from 0, below 1. */
  random(): number;
}

/** The clocks and timers of this process. */
export const systemDirectoryClock: DirectoryClock = Object.freeze({
  wall: () => Date.now(),
  monotonic: () => performance.now(),
  timer(ms: number, run: () => void, { unref }: { readonly unref: boolean } = { unref: false }) {
    const timer = setTimeout(run, ms);
    if (unref) unrefTimer(timer);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
});
