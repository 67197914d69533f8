/** The watches of a driver whose threads only it can change. */
export class MemoryWatches {
  readonly #hints = new Map<string, Set<() => void>>();

  /** See `Driver.watch`. */
  readonly watch = (threadId: string, onHint: () => void): Disposable => {
    const hints = this.#hints.get(threadId) ?? new Set();
    this.#hints.set(threadId, hints);
    // One function may watch a thread twice.
    const hint = () => onHint();
    hints.add(hint);
    return {
      [Symbol.dispose]: () => {
        hints.delete(hint);
        if (hints.size === 0 && this.#hints.get(threadId) === hints) this.#hints.delete(threadId);
      },
    };
  };

  hint(threadId: string): void {
    for (const hint of this.#hints.get(threadId) ?? []) hint();
  }

  close(): void {
    this.#hints.clear();
  }
}
