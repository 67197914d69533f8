import type { Driver } from "../driver/driver.ts";

/** See `StoreFactory.watch`. The callback's errors do not reach the driver, and no call of it follows the end of the watch. */
export function watchThread(driver: Driver, threadId: string, onHint: () => void): Disposable | undefined {
  let isEnded = false;
  const hint = () => {
    if (!isEnded) onHint();
  };
  const watch = driver.watch?.(threadId, () => queueMicrotask(hint));
  return (
    watch && {
      [Symbol.dispose]() {
        isEnded = true;
        watch[Symbol.dispose]();
      },
    }
  );
}
