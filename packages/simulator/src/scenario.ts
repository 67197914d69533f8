import type { Random } from "../../../conformance-tests/src/observed/random.ts";
import type { SimulatedClient } from "./client.ts";
import { SimulationFailure } from "./failure.ts";
import type { Counters } from "./faults.ts";
import { DAY, HOUR, MINUTE, SECOND } from "./network.ts";
import { Died, type SimulationOptions, World, type WorldSetup } from "./world.ts";

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
export interface ScenarioSetup extends WorldSetup {
  /** The number of acts of all callers together. */
  readonly acts: number;
  create(world: World): Scenario;
}

/** The outcome of a run. */
export interface SimulationResult {
  readonly steps: number;
  /** Equal for the same seed and options. */
  readonly hash: string;
  /** The problem that was found; absent if there is none. */
  readonly failure?: SimulationFailure;
  readonly counters: Counters;
  readonly trace: readonly string[];
}

/** Makes one run. */
export type Run = (options: SimulationOptions) => Promise<SimulationResult>;

/** Runs one simulation of a scenario. Runs with the same seed and options take the same steps. */
export async function runScenario(
  setup: ScenarioSetup,
  options: SimulationOptions,
): Promise<SimulationResult> {
  const world = new World(setup, options);
  const { scheduler, counters } = world;
  let failure: SimulationFailure | undefined;
  try {
    await new ScenarioRun(world, setup, options.acts ?? setup.acts).run();
  } catch (error) {
    failure = asFailure(error);
  }
  return {
    steps: scheduler.steps,
    hash: scheduler.hash,
    ...(failure && { failure }),
    counters,
    trace: scheduler.trace ?? [],
  };
}

/** Any error of a run is a finding. */
function asFailure(error: unknown): SimulationFailure {
  if (error instanceof SimulationFailure) return error;
  const failure = new SimulationFailure("errors", `unexpected: ${error}`);
  failure.cause = error;
  return failure;
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
    if (this.#world.backend.sweep) this.#sweepAgain();
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
    const { backend, scheduler, random } = this.#world;
    backend.sweep?.();
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
