import { Random } from "@scrollback/conformance/internal";
import { StoreError } from "@scrollback/store-core";
import type { Driver } from "@scrollback/store-core/driver";
import type { Clock } from "@scrollback/store-core/internal";
import { RecordLogDriver } from "../index.ts";
import { SimulatedBackend } from "./backend.ts";
import { Died } from "./caller.ts";
import { SimulatedClient } from "./client.ts";
import { CostTable } from "./costs.ts";
import { SimulationFailure } from "./failure.ts";
import { Counters } from "./faults.ts";
import { DAY, HOUR, MINUTE, Network, SECOND } from "./network.ts";
import { Scheduler } from "./scheduler.ts";
import { asFailure, type SimulationOptions, type SimulationResult, START } from "./simulation.ts";
import { LARGEST_SKEW } from "./thread-model.ts";

/** The simulated program on a driver: stores, sessions, chats. Keeps a model of the expected state. */
export interface Scenario {
  /**
   * Called when a process begins, at first and after each crash, with its own driver and clock. Returns a function that makes
   * one act of one of its callers.
   */
  begin(client: SimulatedClient): () => Promise<void>;
  /**
   * Called at the end, without faults: everything must work and agree with the model.
   *
   * @throws SimulationFailure if it does not.
   */
  checkCalm(): Promise<void>;
}

/** The definition of a scenario. */
export interface ScenarioSetup {
  readonly name: string;
  /** The number of acts of all callers together. */
  readonly acts: number;
  create(world: World): Scenario;
  /** The driver of a process. Default: that of the record log, over a simulated log that all processes share. */
  createDriver?(world: World, client: SimulatedClient): Driver;
}

/** The time of an event, counted in calls begun and ended. `end` is infinite if the outcome is unknown. */
export interface Interval {
  readonly start: number;
  end: number;
}

/** The outcome of a call. */
export type Ended<T> = { readonly value: T; readonly error?: undefined } | { readonly error: StoreError };

/** A simulated world without a workload: time, chance, faults, processes. */
export class World {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly counters = new Counters();
  readonly network: Network;
  readonly clients: readonly SimulatedClient[];
  /** By how many milliseconds the backend's clock is ahead of the simulated time. */
  readonly skew: number;
  readonly #backend: SimulatedBackend;
  readonly #largestSkew: number;
  #moment = 0;

  constructor(setup: ScenarioSetup, { seed, clients, without = [], isTraced = false }: SimulationOptions) {
    const random = new Random(`${setup.name} ${seed}`);
    this.random = random;
    this.scheduler = new Scheduler(START, isTraced);
    this.#largestSkew = without.includes("wrong clocks") ? 0 : random.pick(0, LARGEST_SKEW, LARGEST_SKEW);
    this.network = new Network(this.scheduler, new Random(`network ${seed}`), this.counters, {
      faultFactor: random.pick(0.1, 1, 1, 3),
      delayFactor: random.pick(0.02, 0.2, 1, 3),
      daysUnderWay: random.pick(0, 0, 0.02),
      without: new Set(without),
    });
    this.skew = this.drawSkew();
    this.#backend = new SimulatedBackend(
      this.scheduler,
      this.network,
      new Random(`backend ${seed}`),
      this.counters,
      {
        maxRowBytes: 64 * 1024,
        returnsWinner: random.chance(0.5),
        omitsTexts: random.chance(0.5),
        skew: this.skew,
        hasAnyStream: true,
      },
    );
    const { createDriver = (_, client) => this.createRecordLogDriver(client) } = setup;
    this.clients = Array.from(
      { length: clients ?? 2 + random.below(3) },
      (_, index) =>
        new SimulatedClient(index + 1, this.scheduler, this.drawSkew(), random, (client) =>
          createDriver(this, client),
        ),
    );
  }

  /** The current position in the order of all calls. */
  moment(): number {
    this.#moment += 1;
    return this.#moment;
  }

  /** Whether all clocks always show the same time. */
  get hasRightClocks(): boolean {
    return this.#largestSkew === 0;
  }

  createRecordLogDriver(client: SimulatedClient): RecordLogDriver {
    const clock: Clock = client.clock;
    return new RecordLogDriver(this.#backend.logFor(client), { clock });
  }

  drawSkew(): number {
    return (this.random.next() * 2 - 1) * this.#largestSkew;
  }

  /** Deletes some of the rows that have expired. */
  sweep(): void {
    this.#backend.sweep();
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

  /** An interval that begins now. */
  interval(): Interval {
    return { start: this.moment(), end: Number.POSITIVE_INFINITY };
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

  /** Fails the run. */
  fail(rule: string, message: string): never {
    throw new SimulationFailure(rule, message);
  }
}

/** Runs one simulation of a scenario. Runs with the same seed and options take the same steps. */
export async function runScenario(
  setup: ScenarioSetup,
  options: SimulationOptions,
): Promise<SimulationResult> {
  const world = new World(setup, options);
  const { scheduler } = world;
  let failure: SimulationFailure | undefined;
  try {
    await new ScenarioRun(world, setup, options.acts ?? setup.acts).run();
  } catch (error) {
    failure = asFailure(error);
  }
  return {
    seed: options.seed,
    profile: setup.name,
    steps: scheduler.steps,
    hash: scheduler.hash,
    ...(failure && { failure }),
    counters: world.counters,
    costs: new CostTable(),
    headSizes: new Map(),
    trace: scheduler.trace ?? [],
  };
}

class ScenarioRun {
  readonly #world: World;
  readonly #scenario: Scenario;
  readonly #actors: number;
  /** The callers that are acting, by client. */
  readonly #acting = new Map<SimulatedClient, number>();
  #actsLeft: number;

  constructor(world: World, setup: ScenarioSetup, acts: number) {
    this.#world = world;
    this.#actsLeft = acts;
    this.#actors = world.random.pick(1, 1, 2);
    this.#scenario = setup.create(world);
  }

  async run(): Promise<void> {
    const { clients, network, scheduler } = this.#world;
    network.onCrash = (client) => this.#begin(client, 5 * MINUTE);
    for (const client of clients) this.#begin(client, SECOND);
    this.#sweepAgain();
    await scheduler.run();
    this.#checkNothingHangs();
    network.isFaulty = false;
    let isCalm = false;
    scheduler.at(scheduler.now, () => {
      this.#scenario.checkCalm().then(
        () => {
          isCalm = true;
        },
        (error) => scheduler.fail(error),
      );
      scheduler.settled();
    });
    await scheduler.run();
    if (!isCalm) this.#world.fail("hangs", "a call never ended, although there was no fault");
  }

  #begin(client: SimulatedClient, within: number): void {
    this.#acting.set(client, 0);
    const act = this.#scenario.begin(client);
    for (let actor = 0; actor < this.#actors; actor++) {
      this.#actAgain(client, act, this.#world.random.next() * within);
    }
  }

  #actAgain(client: SimulatedClient, act: () => Promise<void>, within: number): void {
    const { scheduler, network, random } = this.#world;
    client.schedule(scheduler.now + within, () => {
      if (this.#actsLeft <= 0) return;
      this.#actsLeft -= 1;
      if (network.strikes("clock jumps", 0.004)) client.setClock(this.#world.drawSkew());
      const { incarnation } = client;
      this.#count(client, 1);
      act().then(
        () => {
          if (client.incarnation !== incarnation) return;
          this.#count(client, -1);
          this.#actAgain(client, act, drawWait(random));
        },
        (error) => {
          if (!(error instanceof Died)) scheduler.fail(error);
        },
      );
    });
  }

  #count(client: SimulatedClient, by: number): void {
    this.#acting.set(client, (this.#acting.get(client) ?? 0) + by);
  }

  #sweepAgain(): void {
    const { scheduler, random } = this.#world;
    this.#world.sweep();
    if (this.#actsLeft <= 0) return;
    scheduler.at(scheduler.now + random.next() * (random.chance(0.2) ? 3 * MINUTE : 6 * HOUR), () =>
      this.#sweepAgain(),
    );
  }

  #checkNothingHangs(): void {
    for (const [{ index }, count] of this.#acting) {
      if (count > 0) this.#world.fail("hangs", `${count} calls of client ${index} never ended`);
    }
  }
}

/** The time that a caller waits after an act. */
function drawWait(random: Random): number {
  const kind = random.next();
  if (kind < 0.85) return random.next() * 2 * SECOND;
  if (kind < 0.94) return random.next() * 3 * MINUTE;
  if (kind < 0.98) return random.next() * 3 * HOUR;
  return random.next() * 2 * DAY;
}
