import {
  type CommitRequest,
  createStores,
  type Driver,
  MemoryDriver,
  type ReadRequest,
  type Revision,
  StoreError,
  type StoreFactory,
} from "@scrollback/store-core";

/** What deletes a thread. */
export interface Deletion {
  deleteThread(threadId: string, expectedRevision: Revision | undefined): Promise<void>;
}

/** Threads in memory that can be deleted: each life of a thread is a thread of its own below. */
export class DeletableDriver implements Driver, Deletion {
  readonly #driver = new MemoryDriver();
  readonly #lives = new Map<string, number>();
  /** The threads that were written since this was cleared. */
  readonly written = new Set<string>();
  readonly capabilities = this.#driver.capabilities;

  async commit(request: CommitRequest) {
    const outcome = await this.#driver.commit({ ...request, threadId: this.#idOf(request.threadId) });
    this.written.add(request.threadId);
    return outcome;
  }

  async read(request: ReadRequest) {
    return await this.#driver.read({ ...request, threadId: this.#idOf(request.threadId) });
  }

  async deleteThread(threadId: string, expectedRevision: Revision | undefined): Promise<void> {
    const store = createStores(this.#driver).open(this.#idOf(threadId));
    const { revision } = await store.read({ limit: 0 });
    if (expectedRevision !== undefined && expectedRevision !== revision)
      throw new StoreError("CONFLICT", "deleteThread: the thread is at another revision");
    if (revision === null) return;
    await store.clear();
    this.written.add(threadId);
    this.#lives.set(threadId, (this.#lives.get(threadId) ?? 0) + 1);
  }

  async close() {}

  classifyError(error: unknown) {
    return StoreError.is(error) ? undefined : this.#driver.classifyError();
  }

  #idOf(threadId: string): string {
    return `${this.#lives.get(threadId) ?? 0}:${threadId}`;
  }
}

/** Stores on a driver, with what deletes their threads. */
export function deletableStores(driver: Driver & Deletion): StoreFactory & {
  deleteThread(threadId: string, options?: { expectedRevision?: Revision }): Promise<void>;
} {
  const stores = createStores(driver);
  const factory = {
    ...stores,
    deleteThread: (threadId: string, { expectedRevision }: { expectedRevision?: Revision } = {}) =>
      driver.deleteThread(threadId, expectedRevision),
    withTraits: () => factory as never,
  };
  return factory;
}
