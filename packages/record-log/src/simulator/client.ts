import type { Random } from "@scrollback/conformance/internal";
import type { Driver } from "@scrollback/store-core/driver";
import type { Clock } from "@scrollback/store-core/internal";
import type { Head } from "../rows/format.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SimulatedCall } from "./simulated-call.ts";

/** The time for which a driver may use a time that it read before its clock was set. */
const REMEMBERED_JUMP_MS = 6 * 60_000;

/** The clocks, timers and random numbers of a process. They end with it. */
export interface SimulatedClock extends Clock {
  /** Calls `run` once, `ms` milliseconds from now. Returns a function that cancels it. */
  timer(ms: number, run: () => void): () => void;
  /** A number from 0, below 1. */
  random(): number;
}

/** A process with its own driver and clocks. When it crashes, another process with the same clocks replaces it. */
export class SimulatedClient {
  readonly index: number;
  /** By how many milliseconds its wall clock is ahead of the simulated time. */
  skew: number;
  /** Incremented by every crash. Work of an earlier incarnation has no effect on the client. */
  incarnation = 0;
  clock: SimulatedClock;
  readonly calls = new Set<SimulatedCall>();
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #createDriver: (client: SimulatedClient) => Driver;
  #driver: Driver;
  /** For how many milliseconds its monotonic clock has been paused. */
  #frozen = 0;
  #pausedUntil = 0;
  /** The times that it may have shown when the clock was last set. */
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

  /** The time at which the client's process continues; a past time if it runs. */
  get pausedUntil(): number {
    return this.#pausedUntil;
  }

  wall(): number {
    return Math.floor(this.#scheduler.now + this.skew);
  }

  /** The bounds of the driver's current time. */
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
    for (const call of this.calls) call.ended = "died";
    this.calls.clear();
    this.#scheduler.step("crash", this.index, this.incarnation);
    this.clock = this.#createClock();
    this.#driver = this.#createDriver(this);
  }

  /**
   * Makes a function that works until the process crashes. Promises cannot be stopped, so code of a crashed process may still
   * call it: then the returned promise never settles.
   */
  untilCrash<A extends readonly unknown[], T>(work: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
    const { incarnation } = this;
    return (...args) => (this.incarnation === incarnation ? work(...args) : new Promise<T>(() => undefined));
  }

  /** Restarts without a fault, if no call is under way. */
  restart(): void {
    if (this.calls.size === 0) this.#driver = this.#createDriver(this);
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
      isAborted: false,
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
   * The call that inserts a row: for a commit the call with its operation id, otherwise the only possible call. Writes to a thread
   * take turns: the first one closes a thread that has expired, and the first deletion any other.
   */
  callOf(threadId: string, { operationId, closed, n, at, expiresAt }: Head): SimulatedCall | undefined {
    if (operationId !== undefined) return this.#callOfOperation(threadId, operationId);
    const writing = this.#writingTo(threadId);
    const isOver = n === 0 || at >= (expiresAt ?? Number.POSITIVE_INFINITY);
    const closing = isOver ? undefined : writing.find(({ deletion }) => deletion !== undefined);
    if (closed) return closing ?? writing[0];
    return writing.length === 1 ? writing[0] : undefined;
  }

  /** The call of each of a row's commits before the last one, oldest first. */
  earlierCallsOf(threadId: string, { earlier = [] }: Head): (SimulatedCall | undefined)[] {
    return earlier.map(([id]) => this.#callOfOperation(threadId, id));
  }

  #callOfOperation(threadId: string, id: string): SimulatedCall | undefined {
    return this.#writingTo(threadId).find(({ operationId }) => operationId === id);
  }

  /** The calls that write to a thread: first those that a caller waits for, which may have repeated an aborted one. */
  #writingTo(threadId: string): SimulatedCall[] {
    const writing = [...this.calls].filter(
      (call) => call.threadId === threadId && call.operationId !== undefined,
    );
    return writing.sort((one, other) => Number(one.isAborted) - Number(other.isAborted));
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
