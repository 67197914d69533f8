import { MemoryDriver } from "@scrollback/store-core/driver";
import { KeptDriver } from "../../../conformance-tests/test/fixtures/kept-driver.ts";
import { wrappedIndex } from "../../../conformance-tests/test/fixtures/wrapped-index.ts";

/** Threads and lists in memory, and a record of their requests: `read chat`, `insertEntry` and so on. */
export class CountingDriver extends KeptDriver {
  readonly #requests: string[] = [];
  override readonly index = wrappedIndex(new MemoryDriver().index, (verb, run) => {
    this.#requests.push(verb);
    return run();
  });

  /** Without hints, as most backends. */
  override readonly watch = undefined;

  override async commit(...args: Parameters<MemoryDriver["commit"]>) {
    this.#note("commit", args[0].threadId);
    return await super.commit(...args);
  }

  override async read(...args: Parameters<MemoryDriver["read"]>) {
    this.#note("read", args[0].threadId);
    return await super.read(...args);
  }

  override async delete(...args: Parameters<MemoryDriver["delete"]>) {
    this.#note("delete", args[0].threadId);
    return await super.delete(...args);
  }

  /** The requests since the previous call. */
  take(): string[] {
    return this.#requests.splice(0);
  }

  #note(kind: string, threadId: string): void {
    this.#requests.push(`${kind} ${threadId.split(":")[1]}`);
  }
}
