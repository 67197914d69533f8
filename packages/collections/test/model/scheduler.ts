import { setImmediate as nextTurn } from "node:timers/promises";
import type { CommitRequest, Driver, ReadRequest } from "@scrollback/store-core";
import type { DirectoryClock } from "../../src/index.ts";

/** Deterministic random numbers from a seed (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new RangeError("nothing to pick from");
    return item;
  }
}

interface Step {
  readonly process: number;
  /** The earliest time of the step, in virtual milliseconds. */
  readonly at: number;
  readonly run: () => void;
}

/** Runs one step of one process at a time, in an order that depends on the seed, on a virtual clock. */
export class Scheduler {
  readonly random: Random;
  now = 1_700_000_000_000;
  /** The number of steps, which orders all events. */
  moment = 0;
  readonly dead = new Set<number>();
  #steps: Step[] = [];

  constructor(seed: number) {
    this.random = new Random(seed);
  }

  get isIdle(): boolean {
    return this.#steps.length === 0;
  }

  /** Waits for the turn of this process; never resolves if the process dies first. */
  turn(process: number): Promise<void> {
    return new Promise((resolve) => this.#steps.push({ process, at: this.now, run: resolve }));
  }

  kill(process: number): void {
    this.dead.add(process);
    this.#steps = this.#steps.filter((step) => step.process !== process);
  }

  /** Runs one step. Steps that wait for a time run when no other step is left; steps that are due soon also run at random. */
  async step(): Promise<void> {
    this.moment += 1;
    const ready = this.#steps.filter(({ at }) => at <= this.now);
    const waiting = this.#steps.filter(({ at }) => at > this.now).sort((a, b) => a.at - b.at);
    const isSoon = (waiting[0]?.at ?? Number.POSITIVE_INFINITY) - this.now <= 1_500;
    const isTimeUp = ready.length === 0 || (isSoon && this.random.below(20) === 0);
    const step = isTimeUp && waiting[0] ? waiting[0] : this.random.pick(ready);
    this.#steps.splice(this.#steps.indexOf(step), 1);
    this.now = Math.max(this.now, step.at);
    step.run();
    await nextTurn();
  }

  /** The clock of a process, wrong by `skew` milliseconds. */
  clockOf(process: number, skew: number): DirectoryClock {
    return {
      wall: () => this.now + skew,
      monotonic: () => this.now,
      random: () => this.random.next(),
      timer: (ms, run) => {
        if (this.dead.has(process)) return () => undefined;
        const step = { process, at: this.now + ms, run };
        this.#steps.push(step);
        return () => {
          this.#steps = this.#steps.filter((one) => one !== step);
        };
      },
    };
  }

  /** A driver for one process: each request and each reply is a separate turn. */
  driverOf(process: number, driver: Driver): Driver {
    const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
      await this.turn(process);
      const outcome = await work().then(
        (value) => () => value,
        (error) => () => {
          throw error;
        },
      );
      await this.turn(process);
      return outcome();
    };
    return {
      capabilities: driver.capabilities,
      commit: (request: CommitRequest) => inTurn(() => driver.commit(request)),
      read: (request: ReadRequest) => inTurn(() => driver.read(request)),
      delete: (request) => inTurn(() => driver.delete(request)),
      list: (request) => inTurn(() => driver.list(request)),
      close: async () => undefined,
      classifyError: (error: unknown) => driver.classifyError(error),
    };
  }
}
