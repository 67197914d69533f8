/**
 * The time limit of a call in milliseconds: the store retries for 5 seconds, and its last request may take the same time again
 * before the driver gives it up. The rest is a tolerance for a busy machine.
 */
export const DEADLINE_MS = 15_000;

/**
 * The times to live that a test tries. Tolerance: a thread must be gone 250 ms after its expiry, for clocks with coarse ticks;
 * longer stalls do no harm there. Expectations before the expiry use `inTime`. The tests wait in parallel.
 */
export const TTLS_MS = [800, 2_700, 10_800];
export const AFTER_MS = 250;

/** A call ended when its thread may have expired, so its outcome proves nothing. */
class TooLate extends Error {}

export interface Lifetime {
  readonly ttlMs: number;
  /** The time after a write with this `ttlMs` at which its thread must be gone. */
  readonly afterMs: number;
  /** Makes a write with this `ttlMs`. If the test has several threads, the one that expires first counts. */
  write<T>(call: () => Promise<T>): Promise<T>;
  /** Makes a call that must end before the thread expires. @throws TooLate if it did not, regardless of its outcome. */
  inTime<T>(call: () => Promise<T>): Promise<T>;
}

/**
 * Runs a test with a time to live, and repeats it with a longer one if the machine was too slow to see the thread before its
 * expiry.
 */
export async function beforeExpiry(run: (lifetime: Lifetime) => Promise<void>): Promise<void> {
  for (const ttlMs of TTLS_MS) {
    let end = Number.POSITIVE_INFINITY;
    const inTime = async <T>(call: () => Promise<T>): Promise<T> => {
      const [outcome] = await Promise.allSettled([call()]);
      if (performance.now() >= end) throw new TooLate(`a thread was not read within ${ttlMs} ms`);
      if (outcome.status === "rejected") throw outcome.reason;
      return outcome.value;
    };
    const write = async <T>(call: () => Promise<T>): Promise<T> => {
      const start = performance.now();
      const result = await inTime(call);
      end = start + ttlMs;
      return result;
    };
    try {
      return await run({ ttlMs, afterMs: ttlMs + AFTER_MS, write, inTime });
    } catch (error) {
      if (!(error instanceof TooLate) || ttlMs === TTLS_MS.at(-1)) throw error;
    }
  }
}
