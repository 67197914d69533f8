import type { CommitRequest, DeleteRequest, Driver, ListRequest, ReadRequest } from "@scrollback/store-core";

/** A driver that counts what it is asked for, and that can die: then nothing it is asked for is done or answered. */
export class WatchedDriver implements Driver {
  readonly #driver: Driver;
  readonly commits: string[] = [];
  readonly reads: { readonly threadId: string; readonly limit: number }[] = [];
  /** How many more commits are done; the one after that is the moment of death. */
  commitsLeft = Number.POSITIVE_INFINITY;
  #dying: (() => void) | undefined;
  /** Settles when it has died. */
  readonly death: Promise<void>;

  constructor(driver: Driver) {
    this.#driver = driver;
    this.death = new Promise((resolve) => {
      this.#dying = resolve;
    });
  }

  get capabilities() {
    return this.#driver.capabilities;
  }

  async commit(request: CommitRequest) {
    if (this.commitsLeft === 0) return await this.#die();
    this.commitsLeft -= 1;
    this.commits.push(request.threadId);
    return await this.#driver.commit(request);
  }

  async read(request: ReadRequest) {
    if (this.commitsLeft === 0) return await this.#die();
    this.reads.push(request);
    return await this.#driver.read(request);
  }

  async delete(request: DeleteRequest) {
    if (this.commitsLeft === 0) return await this.#die();
    return await this.#driver.delete(request);
  }

  async list(request: ListRequest) {
    if (this.commitsLeft === 0) return await this.#die();
    return await this.#driver.list(request);
  }

  async close() {}

  classifyError(error: unknown) {
    return this.#driver.classifyError(error);
  }

  /** Forgets what was counted. */
  reset(): void {
    this.commits.length = 0;
    this.reads.length = 0;
  }

  #die(): Promise<never> {
    this.#dying?.();
    return new Promise(() => undefined);
  }
}
