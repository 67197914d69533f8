import { setTimeout as sleep } from "node:timers/promises";

/** Calls `attempt` until it resolves, for at most `timeMs`; then rejects with its last error. */
export async function retryFor<T>(timeMs: number, attempt: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + timeMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await sleep(25);
    }
  }
}
