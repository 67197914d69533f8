import { setImmediate as breath } from "node:timers/promises";

/**
 * Observes again and again while `work` is under way. Waits for all of it before it rejects, and leaves the event loop
 * free in between, also on a backend that answers without waiting.
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
