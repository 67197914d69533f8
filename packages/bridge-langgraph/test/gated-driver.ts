import type {
  CommitRequest,
  DeleteRequest,
  Driver,
  EntryIndex,
  ListRequest,
  ReadRequest,
} from "@scrollback/store-core/driver";
import { wrappedIndex } from "../../../conformance-tests/test/fixtures/wrapped-index.ts";

/** A driver that calls `before`, with the number of the request, before each read, commit, deletion and request of the index. */
export class GatedDriver implements Driver {
  readonly #driver: Driver;
  readonly #before: (request: number) => Promise<void>;
  /** The number of these requests. */
  requests = 0;
  readonly index: EntryIndex;

  constructor(driver: Driver, before: (request: number) => Promise<void>) {
    this.#driver = driver;
    this.#before = before;
    if (!driver.index) throw new Error("a gated driver needs an index");
    this.index = wrappedIndex(driver.index, async (_verb, run) => {
      await this.#before(this.requests++);
      return await run();
    });
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
