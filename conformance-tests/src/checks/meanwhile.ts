import { setImmediate as breath } from "node:timers/promises";

/**
 * Observes repeatedly while `work` is in progress. Waits for all of `work` before it rejects, and leaves the event loop free
 * between observations, also on a backend that replies without waiting.
 */
export async function meanwhile<T>(work: Promise<T>, ...observers: (() => Promise<unknown>)[]): Promise<T> {
  let working = true;
  const done = work.finally(() => {
    working = false;
  });
  const observing = observers.map(async (observe) => {
    while (working) {
      await observe();
      await breath();
    }
  });
  await Promise.allSettled([done, ...observing]);
  await Promise.all(observing);
  return await done;
}
