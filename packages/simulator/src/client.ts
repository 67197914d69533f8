import type { Driver } from "@scrollback/store-core/driver";
import type { Clock } from "@scrollback/store-core/internal";
import type { Random } from "../../../conformance-tests/src/observed/random.ts";
import type { Scheduler } from "./scheduler.ts";

/** The clocks, timers and random numbers of a process. They end with it. */
export interface SimulatedClock extends Clock {
  /** A number from 0, below 1. */
  random(): number;
}

/** A process with its own driver and clocks. When it crashes, another process with the same clocks replaces it. */
export class SimulatedClient {
  readonly index: number;
  /** Incremented by every crash. Work of an earlier incarnation has no effect on the client. */
  incarnation = 0;
  clock: SimulatedClock;
  driver: Driver;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #createDriver: (client: SimulatedClient) => Driver;
  /** By how many milliseconds its wall clock is ahead of the simulated time. */
  #skew: number;
  /** For how many milliseconds its monotonic clock has been paused. */
  #frozen = 0;
  #pausedUntil = 0;

  constructor(
    index: number,
    scheduler: Scheduler,
    skew: number,
    random: Random,
    createDriver: (client: SimulatedClient) => Driver,
  ) {
    this.index = index;
    this.#skew = skew;
    this.#scheduler = scheduler;
    this.#random = random;
    this.clock = this.#createClock();
    this.#createDriver = createDriver;
    this.driver = createDriver(this);
  }

  /** The time at which the client's process continues; a past time if it runs. */
  get pausedUntil(): number {
    return this.#pausedUntil;
  }

  setClock(skew: number): void {
    this.#skew = skew;
    this.#scheduler.step("jump", this.index, skew);
  }

  /** Pauses for `ms`: replies, timers and new calls wait. */
  pause(ms: number, isClockFrozen: boolean): void {
    const { now } = this.#scheduler;
    const until = Math.max(this.#pausedUntil, now + ms);
    if (isClockFrozen) this.#frozen += until - Math.max(this.#pausedUntil, now);
    this.#pausedUntil = until;
  }

  /** Discards the process's memory. */
  crash(): void {
    this.incarnation += 1;
    this.#pausedUntil = 0;
    this.#scheduler.step("crash", this.index, this.incarnation);
    this.clock = this.#createClock();
    this.driver = this.#createDriver(this);
  }

  /**
   * Makes a function that works until the process crashes. Promises cannot be stopped, so code of a crashed process may still
   * call it: then the returned promise never settles.
   */
  untilCrash<A extends readonly unknown[], T>(work: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
    const { incarnation } = this;
    return (...args) => (this.incarnation === incarnation ? work(...args) : new Promise<T>(() => undefined));
  }

  /** Runs `run` at `time`, or as soon after it as the process runs; never in another incarnation. */
  schedule(time: number, run: () => void): void {
    const { incarnation } = this;
    const attempt = () => {
      if (this.incarnation !== incarnation) return;
      if (this.#pausedUntil > this.#scheduler.now) return this.#scheduler.at(this.#pausedUntil, attempt);
      run();
      this.#scheduler.settled();
    };
    this.#scheduler.at(time, attempt);
  }

  #createClock(): SimulatedClock {
    const { incarnation } = this;
    return {
      wall: () => Math.floor(this.#scheduler.now + this.#skew),
      monotonic: () => this.#scheduler.now - this.#frozen,
      sleep: this.untilCrash((ms: number, signal?: AbortSignal) => this.#sleep(ms, signal)),
      timer: (ms, run) => {
        let isCancelled = false;
        this.schedule(this.#scheduler.now + ms, () => {
          if (!isCancelled && this.incarnation === incarnation) run();
        });
        return () => {
          isCancelled = true;
        };
      },
      random: () => this.#random.next(),
    };
  }

  #sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const cancel = this.clock.timer(this.#random.next() * ms, () => {
        this.#scheduler.step("sleep", this.index, ms);
        resolve();
      });
      signal?.addEventListener("abort", () => {
        cancel();
        reject(signal.reason);
      });
    });
  }
}
