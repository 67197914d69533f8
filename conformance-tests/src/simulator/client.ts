import type { Clock, Driver, Head } from "@scrollback/store-core";
import type { Random } from "../observed/random.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SimulatedCall } from "./simulated-call.ts";

/** For so long a driver may go on by a time that it read before its clock was set. */
const REMEMBERED_JUMP_MS = 6 * 60_000;

/** The clocks, timers and random numbers of a process. They end with it. */
export interface SimulatedClock extends Clock {
  /** Calls `run` once, `ms` milliseconds from now. Returns what cancels it. */
  timer(ms: number, run: () => void): () => void;
  /** A number from 0, below 1. */
  random(): number;
}

/** A process with a driver and clocks of its own. When it crashes, another begins in its place, with the same clocks. */
export class SimulatedClient {
  readonly index: number;
  /** How far its wall clock is ahead of the simulated time, in milliseconds. */
  skew: number;
  /** Grows by one with every crash. What belongs to an earlier life has no effect on the client. */
  life = 0;
  clock: SimulatedClock;
  readonly calls = new Set<SimulatedCall>();
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #createDriver: (client: SimulatedClient) => Driver;
  #driver: Driver;
  /** For how long its monotonic clock has stood still. */
  #frozen = 0;
  #pausedUntil = 0;
  /** What it may have shown when the clock was set last. */
  #before = { earliest: 0, latest: 0, at: Number.NEGATIVE_INFINITY };

  constructor(
    index: number,
    scheduler: Scheduler,
    skew: number,
    random: Random,
    createDriver: (client: SimulatedClient) => Driver,
  ) {
    this.index = index;
    this.skew = skew;
    this.#scheduler = scheduler;
    this.#random = random;
    this.clock = this.#createClock();
    this.#createDriver = createDriver;
    this.#driver = createDriver(this);
  }

  get driver(): Driver {
    return this.#driver;
  }

  /** When the client's process goes on; a time that is past where it runs. */
  get pausedUntil(): number {
    return this.#pausedUntil;
  }

  wall(): number {
    return Math.floor(this.#scheduler.now + this.skew);
  }

  /** Between which times lies what the driver takes for the present. */
  possibleWalls(): { readonly earliestWall: number; readonly latestWall: number } {
    const { now } = this.#scheduler;
    const { earliest, latest, at } = this.#before;
    const wall = this.wall();
    if (now - at > REMEMBERED_JUMP_MS) return { earliestWall: wall, latestWall: wall };
    return { earliestWall: Math.min(wall, earliest), latestWall: Math.max(wall, latest + now - at) };
  }

  setClock(skew: number): void {
    const { now } = this.#scheduler;
    const { earliestWall: earliest, latestWall: latest } = this.possibleWalls();
    this.#before = { earliest, latest, at: now };
    this.#observeClock();
    this.skew = skew;
    this.#observeClock();
    this.#scheduler.step("jump", this.index, skew);
  }

  /** Stands still for `ms`: replies, timers and new calls wait. */
  pause(ms: number, isClockFrozen: boolean): void {
    const { now } = this.#scheduler;
    const until = Math.max(this.#pausedUntil, now + ms);
    if (isClockFrozen) this.#frozen += until - Math.max(this.#pausedUntil, now);
    this.#pausedUntil = until;
  }

  /** Throws everything away that is in the process's memory. */
  crash(): void {
    this.life += 1;
    this.#pausedUntil = 0;
    for (const call of this.calls) call.ended = "died";
    this.calls.clear();
    this.#scheduler.step("crash", this.index, this.life);
    this.clock = this.#createClock();
    this.#driver = this.#createDriver(this);
  }

  /**
   * Makes a function that works until the process crashes. What a crashed process still runs, as no promise can be stopped,
   * calls it in vain: the promise that it gets never settles.
   */
  untilCrash<A extends readonly unknown[], T>(work: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
    const { life } = this;
    return (...args) => (this.life === life ? work(...args) : new Promise<T>(() => undefined));
  }

  /** Begins anew without a fault, where nothing is under way. */
  restart(): void {
    if (this.calls.size === 0) this.#driver = this.#createDriver(this);
  }

  /** Runs `run` at `time`, or as soon after it as the process runs; never in another life. */
  schedule(time: number, run: () => void): void {
    const { life } = this;
    const attempt = () => {
      if (this.life !== life) return;
      if (this.#pausedUntil > this.#scheduler.now) return this.#scheduler.at(this.#pausedUntil, attempt);
      run();
      this.#scheduler.settled();
    };
    this.#scheduler.at(time, attempt);
  }

  begin(
    call: Pick<SimulatedCall, "threadId" | "operationId" | "deletion" | "caller" | "since">,
  ): SimulatedCall {
    const wall = this.wall();
    for (const other of this.calls) other.isAlone = false;
    const begun: SimulatedCall = {
      ...call,
      client: this.index,
      lowestWall: wall,
      highestWall: wall,
      requests: 0,
      rows: 0,
      lateRows: [],
      isAlone: this.calls.size === 0,
      isDisturbed: false,
      ended: undefined,
    };
    this.calls.add(begun);
    return begun;
  }

  end(call: SimulatedCall, ended: "resolved" | "rejected"): void {
    this.#observeClock();
    call.ended = ended;
    this.calls.delete(call);
  }

  /**
   * The call that inserts a row: of a commit the one with its operation id, else the only one that it can be. Writes to a thread
   * take turns, so the first of them that is a deletion has its turn when a thread is closed, if no commit may close it.
   */
  callOf(threadId: string, { operationId, closed }: Head): SimulatedCall | undefined {
    const writing = [...this.calls].filter(
      (call) => call.threadId === threadId && call.operationId !== undefined,
    );
    if (operationId !== undefined) return writing.find((call) => call.operationId === operationId);
    if (closed) return writing.find(({ deletion }) => deletion !== undefined) ?? writing[0];
    return writing.length === 1 ? writing[0] : undefined;
  }

  #observeClock(): void {
    const wall = this.wall();
    for (const call of this.calls) {
      call.lowestWall = Math.min(call.lowestWall, wall);
      call.highestWall = Math.max(call.highestWall, wall);
    }
  }

  #createClock(): SimulatedClock {
    return {
      wall: () => this.wall(),
      monotonic: () => this.#scheduler.now - this.#frozen,
      sleep: this.untilCrash((ms: number, signal?: AbortSignal) => this.#sleep(ms, signal)),
      timer: (ms, run) => {
        let isCancelled = false;
        this.schedule(this.#scheduler.now + ms, () => {
          if (!isCancelled) run();
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
      let isDone = false;
      signal?.addEventListener("abort", () => {
        if (isDone) return;
        isDone = true;
        reject(signal.reason);
      });
      this.schedule(this.#scheduler.now + this.#random.next() * ms, () => {
        if (isDone) return;
        isDone = true;
        this.#scheduler.step("sleep", this.index, ms);
        resolve();
      });
    });
  }
}
