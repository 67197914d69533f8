import {
  createStores,
  type Driver,
  type MessageStore,
  type StoreFactory,
  type StoreOptions,
} from "@scrollback/store-core";
import { expect } from "vitest";
import type { FaultyConnection, Harness } from "./harness.ts";
import type { JobInput, JobName, JobResult } from "./jobs.ts";
import { type RemoteJob, type RemoteOptions, runInProcess } from "./processes.ts";

/** The verbs of a record log of which its driver makes each of its own. */
const logVerbs = { commit: "`insert` and `amend`", read: "`read`" } as const;

/** The longest that a test waits for a backend to clear up. */
const LONGEST_WAIT_MS = 15_000;

/** What {@link Backend} needs of the test that it is made for. */
export interface RunningTest {
  /** Ends the test as left out; the matrix shows the reason. */
  skip(reason: string): never;
  createHarness(): Promise<Harness>;
}

/**
 * The backend under test as one test sees it: stores over the group's harness, other clients, and the few things that
 * a backend may lack. Only the methods named `require…` leave a test out, and only by what the harness and the driver's
 * capabilities say. Everything that a test opens here is closed after it.
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

  /** Stores over the harness's driver, which the whole group shares: not to be closed. */
  stores(options?: StoreOptions): StoreFactory {
    return createStores(this.driver, options);
  }

  /** The store of a new thread. */
  store(options?: StoreOptions): MessageStore {
    return this.stores(options).open();
  }

  /** A second client on the same namespace; where the driver alone keeps the threads, that driver. */
  otherDriver(): Driver {
    const driver = this.harness.connect?.();
    if (!driver) return this.driver;
    this.#cleanups.push(() => driver.close());
    return driver;
  }

  /** Stores of a second client. Not to be closed. */
  otherStores(options?: StoreOptions): StoreFactory {
    return createStores(this.otherDriver(), options);
  }

  /** Stores over a driver that nothing else uses, which a test may close. */
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

  /** How many requests `operation` sends over the harness's driver; undefined where requests cannot be counted. */
  async requestsOf(operation: () => unknown): Promise<number | undefined> {
    const before = this.harness.requestCount?.();
    await operation();
    return before === undefined ? undefined : (this.harness.requestCount?.() ?? 0) - before;
  }

  /**
   * Runs `operation` and asserts that it sends as many requests as `capabilities.roundTrips` say of a driver's verb. A
   * failure names the unit, and what an author of an adapter has to look at.
   */
  async expectRequests(
    verb: keyof Driver["capabilities"]["roundTrips"],
    what: string,
    operation: () => unknown,
  ): Promise<void> {
    const look = `look at \`${verb}\` of the driver, or of a record log at ${logVerbs[verb]}`;
    expect(
      await this.requestsOf(operation),
      `requests of ${what}, against capabilities.roundTrips.${verb}; ${look}`,
    ).toBe(this.driver.capabilities.roundTrips[verb]);
  }

  /** Runs `operation` and asserts that it asked nothing of the backend, as far as requests can be counted. */
  async withoutRequests(operation: () => unknown): Promise<void> {
    expect((await this.requestsOf(operation)) ?? 0, "requests sent").toBe(0);
  }

  requireExpiry(): void {
    if (!this.driver.capabilities.expiry) this.#test.skip("threads cannot expire (capabilities.expiry)");
  }

  /** Deleted threads are remembered for a while, as the reply to a request may be lost and the request come again. */
  requireMemoryOfDeleted(): void {
    if (this.driver.capabilities.deletedWithinMs === 0)
      this.#test.skip("nothing is left of a deleted thread (capabilities.deletedWithinMs)");
  }

  /** @returns after how many milliseconds nothing is left of a deleted thread, where a test can wait for that. */
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

  /** What starts another process that does a job with a client of its own. It is ended after the test at the latest. */
  requireProcesses(): <Name extends JobName>(
    job: Name,
    input: JobInput<Name>,
    options?: RemoteOptions,
  ) => RemoteJob<JobResult<Name>> {
    const { childProcess } = this.harness;
    if (!childProcess)
      return this.#test.skip('the driver alone keeps the threads (capabilities.sharing "driver")');
    return (job, input, options) => {
      const remote = runInProcess(childProcess, job, input, options);
      this.#cleanups.push(() => remote.kill());
      return remote;
    };
  }

  /** A connection that can be broken, whole again after the test. */
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

  requireStateWithMessages(): void {
    if (!this.driver.exportThread) this.#test.skip("a state holds no messages (the backend keeps them)");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0).reverse()) await cleanup();
  }
}

/** @throws when a harness lacks what its driver's capabilities call for: the suite would leave tests out unseen. */
export function checkHarness(harness: Harness): void {
  const { sharing, roundTrips } = harness.driver.capabilities;
  const demand = (name: keyof Harness, needed: boolean, why: string) => {
    if (needed && harness[name] === undefined) throw new Error(`harness.${name} is required: ${why}`);
  };
  demand("connect", sharing !== "driver", `capabilities.sharing is "${sharing}"`);
  demand("childProcess", sharing !== "driver", `capabilities.sharing is "${sharing}"`);
  demand("requestCount", roundTrips.commit + roundTrips.read > 0, "capabilities.roundTrips are not 0");
}
