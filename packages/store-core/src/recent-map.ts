/** A map that keeps a number of entries: those that were set, or got, most recently. */
export class RecentMap<V> {
  readonly #max: number;
  /** The least recent first. */
  readonly #entries = new Map<string, V>();

  /** @param max the number of entries: a positive integer. */
  constructor(max: number) {
    this.#max = max;
  }

  get(key: string): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: string, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#max) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  clear(): void {
    this.#entries.clear();
  }
}
