import type { CommitRequest, DeleteRequest, Driver, ListRequest, ReadRequest } from "@scrollback/store-core";

/** A driver that calls `before`, with the number of the request, before each read, commit and deletion. */
export class GatedDriver implements Driver {
  readonly #driver: Driver;
  readonly #before: (request: number) => Promise<void>;
  /** The number of requested reads, commits and deletions. */
  requests = 0;

  constructor(driver: Driver, before: (request: number) => Promise<void>) {
    this.#driver = driver;
    this.#before = before;
  }

  get capabilities() {
    return this.#driver.capabilities;
  }

  async commit(request: CommitRequest) {
    await this.#before(this.requests++);
    return await this.#driver.commit(request);
  }

  async delete(request: DeleteRequest) {
    await this.#before(this.requests++);
    return await this.#driver.delete(request);
  }

  async read(request: ReadRequest) {
    await this.#before(this.requests++);
    return await this.#driver.read(request);
  }

  async list(request: ListRequest) {
    return await this.#driver.list(request);
  }

  async close() {}

  classifyError(error: unknown) {
    return this.#driver.classifyError(error);
  }
}
