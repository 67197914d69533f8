/** Acknowledges single inserts at once and sends them many in a request, while a thread is filled. */
export class Bulk<Insert> {
  readonly #most: number;
  readonly #sendAll: (inserts: readonly Insert[]) => Promise<unknown>;
  #waiting: Insert[] = [];

  /** @param most the maximum number of waiting inserts. */
  constructor(most: number, sendAll: (inserts: readonly Insert[]) => Promise<unknown>) {
    this.#most = most;
    this.#sendAll = sendAll;
  }

  async add(insert: Insert): Promise<void> {
    this.#waiting.push(insert);
    if (this.#waiting.length >= this.#most) await this.flush();
  }

  async flush(): Promise<void> {
    const inserts = this.#waiting;
    this.#waiting = [];
    if (inserts.length > 0) await this.#sendAll(inserts);
  }

  /** @throws Error if inserts are waiting: another request would not see them. */
  assertFlushed(): void {
    if (this.#waiting.length > 0)
      throw new Error("a thread is being filled: nothing but inserts is expected");
  }
}

/** The same object, with some of its members replaced. */
export function overridden<T extends object>(target: T, members: Readonly<Record<PropertyKey, unknown>>): T {
  return new Proxy(target, {
    get(object, key) {
      if (Object.hasOwn(members, key)) return members[key];
      const value: unknown = Reflect.get(object, key, object);
      // Bound, because private fields are not accessible through a proxy.
      return typeof value === "function" ? value.bind(object) : value;
    },
  });
}
