import { sleep } from "@scrollback/store-core/internal";

/** Wakes the followers of a chat after this process has written to it. */
export class Followers {
  readonly #wakers = new Map<string, Set<() => void>>();

  notify(threadId: string): void {
    for (const wake of this.#wakers.get(threadId) ?? []) wake();
  }

  follow(threadId: string): Follower {
    const wakers = this.#wakers.get(threadId) ?? new Set();
    this.#wakers.set(threadId, wakers);
    const follower = new Follower(() => {
      wakers.delete(follower.wake);
      if (wakers.size === 0 && this.#wakers.get(threadId) === wakers) this.#wakers.delete(threadId);
    });
    wakers.add(follower.wake);
    return follower;
  }
}

/** Waits for writes of this process, and for hints of others. */
export class Follower {
  readonly close: () => void;
  #isWoken = false;
  #wakeSleeper: (() => void) | undefined;

  constructor(close: () => void) {
    this.close = close;
  }

  readonly wake = (): void => {
    this.#isWoken = true;
    this.#wakeSleeper?.();
  };

  /** Waits at most `ms` milliseconds until it is woken, also by what came since the last call. Returns whether it was. */
  async wait(ms: number, signal: AbortSignal | undefined): Promise<boolean> {
    if (!this.#isWoken) {
      const timer = new AbortController();
      const signals = signal ? [timer.signal, signal] : [timer.signal];
      this.#wakeSleeper = () => timer.abort();
      // Rejects when it is woken early.
      await sleep(ms, AbortSignal.any(signals)).catch(() => undefined);
      this.#wakeSleeper = undefined;
    }
    const isWoken = this.#isWoken;
    this.#isWoken = false;
    return isWoken;
  }
}
