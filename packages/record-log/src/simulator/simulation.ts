import { Random } from "@scrollback/conformance/internal";
import type { Driver } from "@scrollback/store-core/driver";
import type { Clock } from "@scrollback/store-core/internal";
import { type RecordLog, RecordLogDriver } from "../index.ts";
import { Actor, type Stage } from "./actor.ts";
import { type RowListener, SimulatedBackend } from "./backend.ts";
import { createCheckedThread } from "./checked-thread.ts";
import { SimulatedClient } from "./client.ts";
import { CostTable } from "./costs.ts";
import { SimulationFailure } from "./failure.ts";
import { Counters, type Fault } from "./faults.ts";
import { damageRows } from "./hostile.ts";
import { MINUTE, Network, SECOND } from "./network.ts";
import { Pace } from "./pace.ts";
import { type Profile, type ProfileName, profileOf } from "./profiles.ts";
import { Scheduler } from "./scheduler.ts";
import { StoredRows } from "./stored-rows.ts";
import { SimulatedThread } from "./thread.ts";
import { Workload } from "./workload.ts";

/** The simulated time at which runs begin. */
export const START = Date.UTC(2026, 0, 1);

export interface SimulationOptions {
  readonly seed: number;
  /** Default: drawn from the seed. */
  readonly profile?: ProfileName;
  /** The number of acts of all clients together. Default: the profile's. A run with fewer acts is the beginning of the same run. */
  readonly acts?: number;
  /** Default: 2 to 4, drawn from the seed. */
  readonly clients?: number;
  /** Faults to leave out. */
  readonly without?: readonly Fault[];
  /** Whether the result has a trace: the newest steps as text. */
  readonly isTraced?: boolean;
  /** The driver to simulate. Default: `RecordLogDriver`. */
  readonly createDriver?: (log: RecordLog, clock: Clock) => Driver;
}

export interface SimulationResult {
  readonly seed: number;
  /** The kind of run. */
  readonly profile: string;
  readonly steps: number;
  /** Equal for the same seed and options. */
  readonly hash: string;
  /** The problem that was found; absent if there is none. */
  readonly failure?: SimulationFailure;
  readonly counters: Counters;
  readonly costs: CostTable;
  /** The number of heads of each size, in steps of 64 bytes. */
  readonly headSizes: ReadonlyMap<number, number>;
  readonly trace: readonly string[];
}

/** Runs one simulation: several clients, each with its own driver, one backend, one or two threads. */
export async function runSimulation(options: SimulationOptions): Promise<SimulationResult> {
  return await new Simulation(options).run();
}

class Simulation {
  readonly #options: SimulationOptions;
  readonly #profile: Profile;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #abortRandom: Random;
  readonly #counters = new Counters();
  readonly #costs = new CostTable();
  readonly #network: Network;
  readonly #backend: SimulatedBackend;
  readonly #clients: SimulatedClient[];
  readonly #actors = new Map<SimulatedClient, Actor[]>();
  readonly #workload: Workload;
  readonly #threads: SimulatedThread[];
  readonly #headSizes = new Map<number, number>();
  readonly #stage: Stage;
  readonly #pace: Pace;
  #actsLeft: number;

  constructor(options: SimulationOptions) {
    const { seed, isTraced = false } = options;
    this.#options = options;
    this.#profile = profileOf(seed, options.profile);
    const { acts, clients, largestSkew, faultFactor, delayFactor } = this.#profile;
    const { daysUnderWay, mostDaysUnderWay } = this.#profile;
    const without = new Set(options.without);
    this.#actsLeft = options.acts ?? acts;
    this.#scheduler = new Scheduler(START, isTraced);
    this.#random = new Random(`workload ${seed}`);
    this.#abortRandom = new Random(`aborts ${seed}`);
    const skew = () => (without.has("wrong clocks") ? 0 : (this.#random.next() * 2 - 1) * largestSkew);
    this.#network = new Network(this.#scheduler, new Random(`network ${seed}`), this.#counters, {
      ...{ faultFactor, delayFactor, daysUnderWay, mostDaysUnderWay, without },
    });
    this.#network.isFaulty = faultFactor > 0;
    const backendSkew = skew();
    this.#backend = new SimulatedBackend(
      this.#scheduler,
      this.#network,
      new Random(`backend ${seed}`),
      this.#counters,
      { ...this.#profile, skew: backendSkew },
    );
    const { createDriver = (log, clock) => new RecordLogDriver(log, { clock }) } = options;
    this.#clients = Array.from(
      { length: options.clients ?? clients },
      (_, index) =>
        new SimulatedClient(index + 1, this.#scheduler, skew(), this.#random, (client) =>
          createDriver(this.#backend.logFor(client), client.clock),
        ),
    );
    this.#workload = new Workload(this.#random, this.#profile, this.#driver.capabilities);
    this.#threads = this.#createThreads();
    this.#pace = new Pace({
      ...{ scheduler: this.#scheduler, random: this.#random, network: this.#network },
      ...{ profile: this.#profile, clients: this.#clients, threads: this.#threads, skew: backendSkew },
    });
    this.#stage = {
      ...{ scheduler: this.#scheduler, random: this.#random, counters: this.#counters },
      ...{ workload: this.#workload, costs: this.#costs, threads: this.#threads },
      lateRetries: this.#profile.lateRetries,
      deletions: this.#profile.deletions,
      bursts: this.#profile.bursts,
      abortsAfter: () => this.#abortsAfter(),
      nextAct: () => (--this.#actsLeft > 0 ? this.#pace.nextAct() : undefined),
      beforeAct: (client) => {
        // A retry must use the driver of the first attempt.
        const isIdle = this.#actors.get(client)?.every((actor) => actor.isIdle);
        if (isIdle && this.#profile.restarts > 0 && this.#random.chance(this.#profile.restarts))
          client.restart();
        if (this.#network.strikes("clock jumps", 0.004)) client.setClock(skew());
      },
    };
    this.#network.onCrash = (client) => this.#restart(client);
  }

  async run(): Promise<SimulationResult> {
    let failure: SimulationFailure | undefined;
    try {
      for (const client of this.#clients) this.#startActors(client, SECOND);
      this.#sweepAgain();
      if (this.#profile.name === "hostile") this.#damageAgain();
      await this.#scheduler.run();
      this.#checkNothingHangs();
      await this.#checkCalm();
    } catch (error) {
      failure = asFailure(error);
    }
    return {
      seed: this.#options.seed,
      profile: this.#profile.name,
      steps: this.#scheduler.steps,
      hash: this.#scheduler.hash,
      ...(failure && { failure }),
      counters: this.#counters,
      costs: this.#costs,
      headSizes: this.#headSizes,
      trace: this.#scheduler.trace ?? [],
    };
  }

  get #driver(): Driver {
    const [client] = this.#clients;
    if (!client) throw new RangeError("clients must be a positive integer");
    return client.driver;
  }

  #createThreads(): SimulatedThread[] {
    const ids =
      this.#profile.name === "hostile" || this.#random.chance(0.15) ? ["thread", "other"] : ["thread"];
    return ids.map((threadId, index) => {
      const isDamaged = this.#profile.name === "hostile" && index === 0;
      return isDamaged ? this.#createDamaged(threadId) : this.#createThread(threadId);
    });
  }

  #createDamaged(threadId: string): SimulatedThread {
    const rows = new StoredRows();
    const ignores: RowListener = { step: 0, onInsert: () => undefined, onDelete: () => undefined };
    this.#backend.add(threadId, rows, ignores);
    return new SimulatedThread(threadId, rows);
  }

  #createThread(threadId: string): SimulatedThread {
    const { operations, texts } = this.#workload;
    return createCheckedThread({
      ...{ threadId, operations, texts, scheduler: this.#scheduler, counters: this.#counters },
      ...{ clients: this.#clients, backend: this.#backend },
      onHead: (head) => this.#measureHead(head),
    });
  }

  #measureHead(head: string): void {
    const bytes = Buffer.byteLength(head);
    this.#counters.largest("largest head, bytes", bytes);
    const size = Math.ceil(bytes / 64) * 64;
    this.#headSizes.set(size, (this.#headSizes.get(size) ?? 0) + 1);
  }

  #startActors(client: SimulatedClient, within: number): void {
    const actors = Array.from({ length: this.#profile.actors }, () => new Actor(this.#stage, client));
    this.#actors.set(client, actors);
    for (const actor of actors) actor.start(this.#scheduler.now + this.#random.next() * within);
  }

  #abortsAfter(): number | undefined {
    const { aborts } = this.#profile;
    if (aborts === 0 || !this.#network.strikes("aborts", aborts)) return undefined;
    return this.#abortRandom.next() * this.#abortRandom.pick(50, SECOND, 10 * SECOND);
  }

  #restart(client: SimulatedClient): void {
    for (const actor of this.#actors.get(client) ?? []) actor.die();
    const within = this.#profile.isSweptOften && this.#random.chance(0.8) ? SECOND : 5 * MINUTE;
    if (this.#actsLeft > 0) this.#startActors(client, within);
  }

  #sweepAgain(): void {
    this.#backend.sweep();
    if (this.#actsLeft <= 0) return;
    this.#scheduler.at(this.#pace.nextSweep(), () => this.#sweepAgain());
  }

  #damageAgain(): void {
    const [thread] = this.#threads;
    if (thread) damageRows(thread.rows, this.#random, this.#scheduler);
    if (this.#actsLeft <= 0) return;
    this.#scheduler.at(this.#scheduler.now + this.#random.next() * 20 * SECOND, () => this.#damageAgain());
  }

  #checkNothingHangs(): void {
    for (const { index, calls } of this.#clients) {
      for (const { operationId = "a read", requests } of calls)
        throw new SimulationFailure(
          "hangs",
          `${operationId} of client ${index} never ended, after ${requests} requests`,
        );
    }
  }

  /** Without faults, all clients must read the thread, and each can write. */
  async #checkCalm(): Promise<void> {
    this.#network.isFaulty = false;
    for (const thread of this.#threads) {
      for (const client of this.#clients) {
        const look = new Actor(this.#stage, client).lookCalmly(thread);
        look.catch((error) => this.#scheduler.fail(error));
      }
    }
    await this.#scheduler.run();
    this.#checkNothingHangs();
    for (const thread of this.#threads) {
      const { model, rest } = thread;
      if (model?.livingState) rest?.checkStored(model.livingState);
    }
  }
}

/** The failure of a run. Every other error is a failure too: nothing in a run may throw. */
export function asFailure(error: unknown): SimulationFailure {
  if (error instanceof SimulationFailure) return error;
  const failure = new SimulationFailure(
    "crash",
    error instanceof Error ? (error.stack ?? "") : String(error),
  );
  failure.cause = error;
  return failure;
}
