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

/** Waits for `ms` milliseconds. Rejects with the signal's reason as soon as it is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** The clocks of this process. */
export const systemClock: Clock = Object.freeze({
  wall: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms: number, signal?: AbortSignal) {
    await sleep(Math.random() * ms, signal);
  },
  timer(ms: number, run: () => void) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
});
