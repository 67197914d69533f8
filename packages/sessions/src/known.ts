const MOST = 1_000;

/** What was learned last of threads, for the ones used most lately. */
export class Known<T> {
  readonly #values = new Map<string, T>();

  get(threadId: string): T | undefined {
    const value = this.#values.get(threadId);
    if (value !== undefined) this.set(threadId, value);
    return value;
  }

  set(threadId: string, value: T): void {
    this.#values.delete(threadId);
    this.#values.set(threadId, value);
    const [oldest] = this.#values.keys();
    if (this.#values.size > MOST && oldest !== undefined) this.#values.delete(oldest);
  }

  delete(threadId: string): void {
    this.#values.delete(threadId);
  }
}
