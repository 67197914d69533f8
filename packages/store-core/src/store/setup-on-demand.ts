import { emitWarning } from "#runtime";
import type { Driver, ErrorClassification } from "../driver/driver.ts";
import { StoreError } from "../errors.ts";

/**
 * The option `setup`: makes what is missing in the backend when a request needs it.
 *
 * A request that fails because a table is missing runs the driver's setup and is sent again. So a factory whose tables are there sends
 * no further request and needs no privilege to create, and what was dropped, or what an upgrade adds, is made too. Only a driver whose
 * requests succeed without its indexes cannot notice that they are missing: its setup runs before the factory's first request.
 */
export class SetupOnDemand {
  readonly #driver: Driver;
  #isDue: boolean;
  #running: Promise<void> | undefined;

  constructor(driver: Driver) {
    this.#driver = driver;
    this.#isDue = driver.worksWithoutSetup ?? false;
  }

  /** Notes that the driver's setup has run. */
  done(): void {
    this.#isDue = false;
  }

  /**
   * Sends a request, after a setup where it is needed. One setup runs at a time, for all requests that need it. After a failure the
   * next request runs it again.
   *
   * @param assertWanted throws if the factory was closed, or the call was aborted, during the setup.
   */
  async send<T>(operation: () => Promise<T>, assertWanted: () => void): Promise<T> {
    if (this.#isDue) return await this.#sendFirst(operation, assertWanted);
    try {
      return await operation();
    } catch (missing) {
      if (!this.#classify(missing)?.isMissing) throw missing;
      await this.#run().catch((failure) => {
        // The error has ended the transaction of the caller, in which nothing can be made.
        throw this.#driver.sendsOnce ? missing : failure;
      });
    }
    assertWanted();
    return await operation();
  }

  /** The requests of this driver work without its setup, so a setup that is refused leads to a warning. */
  async #sendFirst<T>(operation: () => Promise<T>, assertWanted: () => void): Promise<T> {
    let refusal: unknown;
    try {
      await this.#run();
      this.#isDue = false;
    } catch (error) {
      if (this.#classify(error)?.retryable) throw error;
      refusal = error;
    }
    assertWanted();
    const result = await operation();
    if (refusal !== undefined && this.#isDue) {
      this.#isDue = false;
      const { backend } = this.#driver.capabilities;
      const reason = this.#classify(refusal)?.message ?? `${backend}: see the server's log`;
      emitWarning(`setup: indexes may be missing, because it was refused: ${reason}`);
    }
    return result;
  }

  #run(): Promise<void> {
    this.#running ??= this.#make().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #make(): Promise<void> {
    const made = await this.#driver.setup?.();
    if (typeof made === "string") emitWarning(`setup: ${this.#driver.capabilities.backend}: made ${made}`);
  }

  #classify(error: unknown): Pick<ErrorClassification, "message" | "retryable" | "isMissing"> | undefined {
    return StoreError.is(error) ? error : this.#driver.classifyError(error);
  }
}
