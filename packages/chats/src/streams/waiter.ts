import type { Clock } from "@scrollback/store-core/internal";

/** The clock of streams, for tests. */
export type StreamClock = Pick<Clock, "monotonic" | "timer">;

/** Waits until it is woken, or a time has passed. One caller waits at a time. */
export class Waiter {
  readonly #clock: StreamClock;
  #isWoken = false;
  #go: (() => void) | undefined;

  constructor(clock: StreamClock) {
    this.#clock = clock;
  }

  readonly wake = (): void => {
    this.#isWoken = true;
    this.#go?.();
  };

  /** Returns after `ms`, or when it is woken, also by what came since the last call. */
  async wait(ms: number): Promise<void> {
    const cancel = this.#clock.timer(ms, this.wake);
    await this.#woken();
    cancel();
  }

  /** Returns after `ms`, or when `isDone`, which is asked again after each {@link Waiter.wake}. */
  async until(ms: number, isDone: () => boolean): Promise<void> {
    let isOver = ms <= 0;
    const cancel = this.#clock.timer(Math.max(0, ms), () => {
      isOver = true;
      this.wake();
    });
    while (!isOver && !isDone()) await this.#woken();
    cancel();
  }

  async #woken(): Promise<void> {
    if (!this.#isWoken)
      await new Promise<void>((resolve) => {
        this.#go = resolve;
      });
    this.#isWoken = false;
  }
}
