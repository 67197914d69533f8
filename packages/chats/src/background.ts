/** Background work, for which no caller waits. */
export class Background {
  readonly #tasks = new Set<Promise<void>>();
  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  add(task: Promise<unknown>): void {
    const finished = task.then(() => undefined, this.#onError).finally(() => this.#tasks.delete(finished));
    this.#tasks.add(finished);
  }

  /** Returns when no background work is pending. */
  async flush(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.all(this.#tasks);
  }
}
