import type { MessageStore, StoreFactory, StoreOptions } from "@scrollback/store-core";
import { createStores, type Driver } from "@scrollback/store-core/driver";
import { expect } from "vitest";
import type { FaultyConnection, Harness } from "./harness.ts";
import type { JobInput, JobName } from "./processes/jobs.ts";
import { type RemoteJob, type RemoteOptions, runInProcess } from "./processes/run-in-process.ts";

/** The maximum time that a test waits for a backend to clean up. */
const LONGEST_WAIT_MS = 15_000;

/** What {@link Backend} needs of the test for which it is made. */
export interface RunningTest {
  /** Ends the test as skipped; the matrix shows the reason. */
  skip(reason: string): never;
  createHarness(): Promise<Harness>;
}

/**
 * The backend under test for one test: stores over the group's harness, other clients, and the features that a backend may lack.
 * Only the methods named `require…` skip a test, and only by the harness and the driver's capabilities. Everything that a test
 * opens here is closed after the test.
 */
export class Backend implements AsyncDisposable {
  readonly harness: Harness;
  readonly #test: RunningTest;
  readonly #cleanups: (() => Promise<void>)[] = [];

  constructor(harness: Harness, test: RunningTest) {
    this.harness = harness;
    this.#test = test;
  }

  get driver(): Driver {
    return this.harness.driver;
  }

  /** Stores over the harness's driver, which the whole group shares. A test must not close them. */
  stores(options?: StoreOptions): StoreFactory {
    return createStores(this.driver, options);
  }

  /** The store of a new thread. */
  store(options?: StoreOptions): MessageStore {
    return this.stores(options).open();
  }

  /** A second client on the same namespace; the harness's driver if only that driver has the threads. */
  otherDriver(): Driver {
    const driver = this.harness.connect?.();
    if (!driver) return this.driver;
    this.#cleanups.push(() => driver.close());
    return driver;
  }

  /** Stores of a second client. A test must not close them. */
  otherStores(options?: StoreOptions): StoreFactory {
    return createStores(this.otherDriver(), options);
  }

  /** Stores over a separate driver, which a test may close. */
  async ownStores(options?: StoreOptions): Promise<StoreFactory> {
    const driver = this.harness.connect?.() ?? (await this.freshHarness()).driver;
    const stores = createStores(driver, options);
    this.#cleanups.push(() => stores.close());
    return stores;
  }

  /** A harness on another namespace. */
  async freshHarness(): Promise<Harness> {
    const harness = await this.#test.createHarness();
    this.#cleanups.push(() => harness.close());
    return harness;
  }

  /** The number of requests that `operation` sends over the harness's driver; undefined if requests cannot be counted. */
  async requestsOf(operation: () => unknown): Promise<number | undefined> {
    const before = this.harness.requestCount?.();
    await operation();
    return before === undefined ? undefined : (this.harness.requestCount?.() ?? 0) - before;
  }

  /**
   * Runs `operation` and asserts that it sends the number of requests that `capabilities.roundTrips` states for the driver's
   * verb. A failure names the unit and the code that an adapter's author must check.
   */
  async expectRequests(
    verb: keyof Driver["capabilities"]["roundTrips"],
    what: string,
    operation: () => unknown,
  ): Promise<void> {
    const look = `look at \`${verb}\` of the driver`;
    expect(
      await this.requestsOf(operation),
      `requests of ${what}, against capabilities.roundTrips.${verb}; ${look}`,
    ).toBe(this.driver.capabilities.roundTrips[verb]);
  }

  /** Runs `operation` and asserts that it sends no request, if requests can be counted. */
  async withoutRequests(operation: () => unknown): Promise<void> {
    expect((await this.requestsOf(operation)) ?? 0, "requests sent").toBe(0);
  }

  requireExpiry(): void {
    if (!this.driver.capabilities.expiry) this.#test.skip("threads cannot expire (capabilities.expiry)");
  }

  /** For backends that remember deleted threads for a while, because a request whose reply was lost may be repeated. */
  requireMemoryOfDeleted(): void {
    if (this.driver.capabilities.deletedWithinMs === 0)
      this.#test.skip("nothing is left of a deleted thread (capabilities.deletedWithinMs)");
  }

  /** @returns the number of milliseconds after which a deleted thread leaves nothing, if a test can wait for that. */
  requireSoonDeleted(): number {
    const { deletedWithinMs } = this.driver.capabilities;
    if (deletedWithinMs > LONGEST_WAIT_MS)
      this.#test.skip(
        `parts of a deleted thread remain for longer than a test runs (capabilities.deletedWithinMs)`,
      );
    return deletedWithinMs;
  }

  requireRequests(): void {
    const { commit, read } = this.driver.capabilities.roundTrips;
    if (commit === 0 && read === 0)
      this.#test.skip("there are no requests to count (capabilities.roundTrips)");
  }

  requireOtherClient(): void {
    if (!this.harness.connect)
      this.#test.skip('the driver alone keeps the threads (capabilities.sharing "driver")');
  }

  /**
   * Returns a function that starts another process, which does a job with its own client and ends with the test at the latest.
   */
  requireProcesses(): <Name extends JobName>(
    job: Name,
    input: JobInput<Name>,
    options?: RemoteOptions,
  ) => RemoteJob {
    const { childProcess } = this.harness;
    if (!childProcess)
      return this.#test.skip('the driver alone keeps the threads (capabilities.sharing "driver")');
    return (job, input, options) => {
      const remote = runInProcess(childProcess, job, input, options);
      this.#cleanups.push(() => remote.kill());
      return remote;
    };
  }

  /** A connection that can be broken. It works again after the test. */
  requireNetwork(): FaultyConnection {
    const { faults } = this.harness;
    if (!faults) return this.#test.skip("there is no network to break (harness.faults)");
    this.#cleanups.push(async () => faults.proxy.set({ kind: "pass" }));
    return {
      ...faults,
      connect: () => {
        const driver = faults.connect();
        this.#cleanups.push(() => driver.close());
        return driver;
      },
    };
  }

  requireIndex(): void {
    if (!this.driver.index) this.#test.skip("there is no index (capabilities.index)");
  }

  requireVectors(): void {
    this.requireIndex();
    if (!this.driver.capabilities.index?.vectors)
      this.#test.skip("entries have no vectors (capabilities.index.vectors)");
  }

  /** Everything that is stored of an index. */
  async dumpIndex(index: string): Promise<string> {
    return (await this.harness.raw.dumpIndex?.(index)) ?? "";
  }

  requireStateWithMessages(): void {
    if (!this.driver.exportThread) this.#test.skip("a state holds no messages (the backend keeps them)");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0).reverse()) await cleanup();
  }
}

/** @throws if a harness lacks what its driver's capabilities require: the suite would skip tests unnoticed. */
export function checkHarness(harness: Harness): void {
  const { sharing, roundTrips, index } = harness.driver.capabilities;
  if (index && !harness.raw.dumpIndex)
    throw new Error("harness.raw.dumpIndex is required: the driver has capabilities.index");
  const demand = (name: keyof Harness, needed: boolean, why: string) => {
    if (needed && harness[name] === undefined) throw new Error(`harness.${name} is required: ${why}`);
  };
  demand("connect", sharing !== "driver", `capabilities.sharing is "${sharing}"`);
  demand("childProcess", sharing !== "driver", `capabilities.sharing is "${sharing}"`);
  demand("requestCount", roundTrips.commit + roundTrips.read > 0, "capabilities.roundTrips are not 0");
}
