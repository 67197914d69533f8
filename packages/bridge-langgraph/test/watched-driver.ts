import type {
  CommitRequest,
  DeleteRequest,
  Driver,
  ListRequest,
  MemoryDriver,
  ReadRequest,
} from "@scrollback/store-core";

/** A driver that counts what it is asked for, and that can die: then nothing it is asked for is done or answered. */
export class WatchedDriver implements Driver {
  readonly #driver: MemoryDriver;
  readonly commits: string[] = [];
  readonly reads: string[] = [];
  readonly deletions: string[] = [];
  /** How many more writes are done; the one after that is the moment of death. */
  writesLeft = Number.POSITIVE_INFINITY;
  /** Is done once, before the next commit. */
  beforeCommit: (() => Promise<void>) | undefined;
  #dying: (() => void) | undefined;
  /** Settles when it has died. */
  readonly death: Promise<void>;

  constructor(driver: MemoryDriver) {
    this.#driver = driver;
    this.death = new Promise((resolve) => {
      this.#dying = resolve;
    });
  }

  get capabilities() {
    return this.#driver.capabilities;
  }

  async commit(request: CommitRequest) {
    await this.#write();
    const before = this.beforeCommit;
    this.beforeCommit = undefined;
    await before?.();
    this.commits.push(request.threadId);
    return await this.#driver.commit(request);
  }

  async delete(request: DeleteRequest) {
    await this.#write();
    this.deletions.push(request.threadId);
    return await this.#driver.delete(request);
  }

  async read(request: ReadRequest) {
    if (this.writesLeft === 0) await this.#die();
    this.reads.push(request.threadId);
    return await this.#driver.read(request);
  }

  async list(request: ListRequest) {
    return await this.#driver.list(request);
  }

  async close() {}

  classifyError() {
    return this.#driver.classifyError();
  }

  /** Forgets what was counted. */
  reset(): void {
    this.commits.length = 0;
    this.reads.length = 0;
    this.deletions.length = 0;
  }

  async #write(): Promise<void> {
    if (this.writesLeft === 0) await this.#die();
    this.writesLeft -= 1;
  }

  #die(): Promise<never> {
    this.#dying?.();
    return new Promise(() => undefined);
  }
}
