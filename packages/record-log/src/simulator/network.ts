import type { Random } from "@scrollback/conformance/internal";
import type { SimulatedClient } from "./client.ts";
import { SimulationFailure } from "./failure.ts";
import type { Counters, Fault } from "./faults.ts";
import type { Scheduler } from "./scheduler.ts";

/** More requests than any call needs. */
const MOST_REQUESTS = 3_000;

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** The time within which a request that inserts or amends a root takes effect, see the assumptions of the log. */
export const ROOT_LATE_MS = 14 * DAY;

/** Factors for the rates below: of failing requests and of slow requests. */
export interface NetworkOptions {
  readonly faultFactor: number;
  readonly delayFactor: number;
  /** The share of writes that take days, and the most days that they take. Default: 13. */
  readonly daysUnderWay: number;
  readonly mostDaysUnderWay?: number;
  readonly without: ReadonlySet<Fault>;
}

/** What the network knows of a request. */
export interface SimulatedRequest {
  readonly isWrite: boolean;
  /** Whether it inserts or amends a root: it then takes effect within the time that the log assumes. */
  readonly isOfRoots?: boolean;
  /** Whether no client repeats it: it never takes effect twice. */
  readonly isOnce?: boolean;
  /** The row in the trace. */
  readonly number: number;
  readonly words: () => string;
}

/** The error that a client gets instead of a reply. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

/**
 * A request's effect at the backend. It calls `reply` when it is complete, at once or later. `isEcho`: the request takes effect for the
 * second time.
 */
export type Effect<T> = (reply: (value: T) => void, isEcho: boolean) => void;

/** Splits each request into sending, effect and reply, and injects faults between them. */
export class Network {
  /** With false, every request works, and within 50 ms. */
  isFaulty = true;
  /** Called when a client has crashed and its next incarnation has begun. */
  onCrash: (client: SimulatedClient) => void = () => undefined;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #counters: Counters;
  readonly #options: NetworkOptions;

  constructor(scheduler: Scheduler, random: Random, counters: Counters, options: NetworkOptions) {
    this.#scheduler = scheduler;
    this.#random = random;
    this.#counters = counters;
    this.#options = options;
  }

  /** Whether a fault with this probability happens now. */
  strikes(fault: Fault, probability: number): boolean {
    if (!this.isFaulty || this.#options.without.has(fault)) return false;
    if (!this.#random.chance(probability)) return false;
    this.#counters.count(fault);
    return true;
  }

  send<T>(client: SimulatedClient, request: SimulatedRequest, effect: Effect<T>): Promise<T> {
    const scheduler = this.#scheduler;
    const { faultFactor: factor, daysUnderWay, mostDaysUnderWay = 13 } = this.#options;
    const { number } = request;
    const words = scheduler.trace && request.words();
    scheduler.step("sent", client.index, number, words);
    for (const call of client.calls) {
      call.requests += 1;
      if (call.requests > MOST_REQUESTS)
        scheduler.fail(new SimulationFailure("requests", `a call made ${call.requests} requests`));
    }
    return new Promise<T>((resolve, reject) => {
      const happens = (time: number, then: (value: T) => void, isEcho = false) =>
        scheduler.at(time, () => {
          scheduler.step("effect", client.index, number, words);
          effect(then, isEcho);
        });
      const fails = (time: number) =>
        client.schedule(time, () => {
          scheduler.step("lost", client.index, number, words);
          reject(new ConnectionLost("the connection was lost"));
        });
      const replies = (time: number, value: T) =>
        client.schedule(time, () => {
          scheduler.step("reply", client.index, number, words);
          resolve(value);
        });
      const nothing = () => undefined;

      if (this.strikes("crashes", 0.004 * factor)) {
        if (this.#random.chance(0.5)) happens(scheduler.now + this.#delay(), nothing);
        return this.crash(client);
      }
      const isDisturbed = () => {
        for (const call of client.calls) call.isDisturbed = true;
      };
      let leaves = scheduler.now;
      if (this.#pauses(client)) {
        isDisturbed();
        // A process can stop just before a request leaves it, or just after.
        if (this.#random.chance(0.5)) leaves = client.pausedUntil;
      }
      let arrives = leaves + this.#delay();
      const isUnderWayForDays = request.isWrite && this.strikes("days under way", daysUnderWay);
      if (isUnderWayForDays) arrives += (1 + this.#random.next() * (mostDaysUnderWay - 1)) * DAY;
      if (request.isOfRoots) arrives = Math.min(arrives, scheduler.now + ROOT_LATE_MS);
      if (isUnderWayForDays) {
        isDisturbed();
        if (this.#random.chance(0.5)) {
          happens(arrives, nothing);
          return this.crash(client);
        }
      }
      if (arrives - leaves > 5 * SECOND) isDisturbed();
      if (this.strikes("lost requests", 0.02 * factor)) {
        isDisturbed();
        return fails(arrives);
      }
      if (this.strikes("lost replies", 0.03 * factor)) {
        isDisturbed();
        return happens(arrives, () => fails(scheduler.now + this.#delay()));
      }
      if (this.strikes("late effects", 0.02 * factor)) {
        isDisturbed();
        happens(arrives + this.#random.next() * 2 * MINUTE, nothing);
        return fails(leaves + this.#random.next() * 8 * SECOND);
      }
      if (!request.isOnce && this.strikes("doubled requests", 0.01 * factor)) {
        isDisturbed();
        happens(arrives, nothing);
        return happens(
          arrives + this.#echoDelay(),
          (value) => replies(scheduler.now + this.#delay(), value),
          true,
        );
      }
      happens(arrives, (value) => replies(scheduler.now + this.#delay(), value));
    });
  }

  crash(client: SimulatedClient): void {
    client.crash();
    this.onCrash(client);
  }

  #pauses(client: SimulatedClient): boolean {
    const length = this.#longTime(() => this.strikes("pauses", 0.5));
    if (length === 0) return false;
    client.pause(length, this.strikes("frozen clocks", 0.5));
    return true;
  }

  #delay(): number {
    const long = this.#longTime(() => this.strikes("slow requests", 0.75));
    if (long > 0) return long;
    // Most requests take a few milliseconds, some a few seconds.
    const isSlow = this.isFaulty && this.#random.chance(0.08);
    return isSlow ? this.#random.next() * 3 * SECOND : 1 + this.#random.next() * 20;
  }

  /** 0, and sometimes minutes, hours or days. */
  #longTime(happens: () => boolean): number {
    const { delayFactor: factor } = this.#options;
    const chance = this.#random.next();
    if (chance >= 0.02 * factor || !happens()) return 0;
    if (chance < 0.002 * factor) return this.#random.next() * 8 * DAY;
    if (chance < 0.006 * factor) return this.#random.next() * 30 * HOUR;
    return this.#random.next() * 20 * MINUTE;
  }

  /** A client repeats a request after seconds, rarely minutes. */
  #echoDelay(): number {
    return this.#random.chance(0.9) ? this.#random.next() * 2 * SECOND : this.#random.next() * 10 * MINUTE;
  }
}
