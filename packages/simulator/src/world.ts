import { StoreError } from "@scrollback/store-core";
import type { Driver } from "@scrollback/store-core/driver";
import { Random } from "../../../conformance-tests/src/observed/random.ts";
import { SimulatedClient } from "./client.ts";
import { SimulationFailure } from "./failure.ts";
import { Counters, type Fault } from "./faults.ts";
import { HOUR, Network } from "./network.ts";
import { Scheduler } from "./scheduler.ts";

/** The simulated time at which runs begin. */
const START = Date.UTC(2026, 0, 1);

/** What determines a run: the same options take the same steps. */
export interface SimulationOptions {
  readonly seed: number;
  /** The number of acts of all clients together. Default: the scenario's. A run with fewer acts is the beginning of the same run. */
  readonly acts?: number;
  /** Default: 2 to 4, drawn from the seed. */
  readonly clients?: number;
  /** Faults to leave out. */
  readonly without?: readonly Fault[];
  /** Whether the result has a trace: the newest steps as text. */
  readonly isTraced?: boolean;
}

/** A backend that all processes of a world share. It keeps running, as a server does. */
export interface SimulatedBackend {
  /** The driver of a process. Called when the process begins, and again after each crash. */
  createDriver(client: SimulatedClient): Driver;
  /** Deletes what has expired, or a part of it. Called from time to time. */
  sweep?(): void;
}

/** What a backend may assume of every world, and its creation. */
export interface WorldSetup {
  readonly name: string;
  createBackend(world: World): SimulatedBackend;
}

/** The time of an event, counted in calls begun and ended. `end` is infinite if the outcome is unknown. */
export interface Interval {
  readonly start: number;
  end: number;
}

/** The outcome of a call. */
export type Ended<T> = { readonly value: T; readonly error?: undefined } | { readonly error: StoreError };

/** Thrown into a caller whose process has crashed. */
export class Died extends Error {}

/** A simulated world without a workload: time, chance, faults, processes. */
export class World {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly counters = new Counters();
  readonly network: Network;
  readonly backend: SimulatedBackend;
  readonly clients: readonly SimulatedClient[];
  readonly #largestSkew: number;
  readonly #backendSkew: number;
  #moment = 0;

  constructor(setup: WorldSetup, { seed, clients, without = [], isTraced = false }: SimulationOptions) {
    const random = new Random(`${setup.name} ${seed}`);
    this.random = random;
    this.scheduler = new Scheduler(START, isTraced);
    const skew = 12 * HOUR;
    this.#largestSkew = without.includes("wrong clocks") ? 0 : random.pick(0, skew, skew);
    this.#backendSkew = this.drawSkew();
    this.network = new Network(this.scheduler, new Random(`network ${seed}`), this.counters, {
      faultFactor: random.pick(0.1, 1, 1, 3),
      delayFactor: random.pick(0.02, 0.2, 1, 3),
      daysUnderWay: random.pick(0, 0, 0.02),
      without: new Set(without),
    });
    this.backend = setup.createBackend(this);
    this.clients = Array.from(
      { length: clients ?? 2 + random.below(3) },
      (_, index) =>
        new SimulatedClient(index + 1, this.scheduler, this.drawSkew(), random, (client) =>
          this.backend.createDriver(client),
        ),
    );
  }

  /** The current position in the order of all calls. */
  moment(): number {
    this.#moment += 1;
    return this.#moment;
  }

  /** An interval that begins now. */
  interval(): Interval {
    return { start: this.moment(), end: Number.POSITIVE_INFINITY };
  }

  /** The time of the backend's clock, in milliseconds since 1970. */
  backendWall(): number {
    return Math.floor(this.scheduler.now + this.#backendSkew);
  }

  /** By how many milliseconds a clock is wrong. */
  drawSkew(): number {
    return (this.random.next() * 2 - 1) * this.#largestSkew;
  }

  /**
   * Makes a call of the simulated program, and sets the end of its interval. Thrown errors must be StoreErrors. If the
   * process has crashed meanwhile, the call never returns.
   */
  async call<T>(
    client: SimulatedClient,
    interval: Interval,
    words: () => string,
    run: () => Promise<T>,
  ): Promise<Ended<T>> {
    const { scheduler } = this;
    const { incarnation } = client;
    const settled = (what: string) => {
      if (client.incarnation !== incarnation) throw new Died();
      interval.end = this.moment();
      scheduler.step("settled", client.index, interval.end, scheduler.trace && `${words()}: ${what}`);
    };
    scheduler.step("call", client.index, interval.start, scheduler.trace && words());
    try {
      const value = await run();
      settled("done");
      return { value };
    } catch (error) {
      if (error instanceof Died) throw error;
      settled(String(error));
      if (!StoreError.is(error)) throw error;
      // It is unknown whether it has an effect, now or later.
      if (StoreError.is(error, "UNAVAILABLE")) interval.end = Number.POSITIVE_INFINITY;
      return { error };
    }
  }

  /** Fails the run unless the error is allowed: one of the codes, and at the end, without faults, only `CONFLICT`. */
  allow({ code, message }: StoreError, ...codes: readonly StoreError["code"][]): void {
    if (!codes.includes(code) || (!this.network.isFaulty && code !== "CONFLICT"))
      this.fail("errors", `a call failed with ${code}: ${message}`);
    this.counters.count(code);
  }

  /** Waits, unless the process crashes. */
  sleep(client: SimulatedClient, ms: number): Promise<void> {
    return new Promise((resolve) => {
      client.schedule(this.scheduler.now + ms, resolve);
    });
  }

  /** Fails the run, also if a driver treats the error as one of its backend. */
  fail(rule: string, message: string): never {
    const failure = new SimulationFailure(rule, message);
    this.scheduler.fail(failure);
    throw failure;
  }
}
