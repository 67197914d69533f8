import type { ErrorClassification } from "@scrollback/store-core/driver";
import type { Random } from "../../../conformance-tests/src/observed/random.ts";
import type { SimulatedClient } from "./client.ts";
import type { Counters, Fault } from "./faults.ts";
import type { Scheduler } from "./scheduler.ts";

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** The most days for which a write is under way. */
const MOST_DAYS = 13;

/** Factors for the rates below: of failing requests and of slow requests. */
export interface NetworkOptions {
  readonly faultFactor: number;
  readonly delayFactor: number;
  /** The share of writes that take days. */
  readonly daysUnderWay: number;
  readonly without: ReadonlySet<Fault>;
}

/** A request to a backend, which is one atomic step there. */
export interface SimulatedRequest<T> {
  /** `"once"`: a write that no client repeats, so it never takes effect twice. */
  readonly kind: "read" | "write" | "once";
  /** Describes it in a trace. */
  readonly words: () => string;
  /**
   * The effect at the backend. It must not wait for virtual time. `isEcho`: it takes effect for the second time. Its error reaches the
   * client as the backend's reply.
   */
  readonly run: (isEcho: boolean) => Promise<T>;
}

/** The error that a client gets instead of a reply. */
class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

/** The `classifyError` of a driver behind the network. */
export function classifyLoss(error: unknown): ErrorClassification | undefined {
  if (!(error instanceof ConnectionLost)) return undefined;
  return { code: "UNAVAILABLE", message: "the connection was lost", retryable: true };
}

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
  #requests = 0;

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

  /** Sends requests of the process that runs in a client now. After its crash, its code gets no reply and has no effect. */
  senderOf(client: SimulatedClient): <T>(request: SimulatedRequest<T>) => Promise<T> {
    const { incarnation } = client;
    return (request) =>
      client.incarnation === incarnation ? this.#send(client, request) : new Promise(() => undefined);
  }

  #send<T>(client: SimulatedClient, request: SimulatedRequest<T>): Promise<T> {
    const scheduler = this.#scheduler;
    const { faultFactor: factor, daysUnderWay } = this.#options;
    this.#requests += 1;
    const number = this.#requests;
    const words = scheduler.trace && request.words();
    scheduler.step("sent", client.index, number, words);
    return new Promise<T>((resolve, reject) => {
      const happens = (time: number, then: (settle: () => void) => void, isEcho = false) =>
        scheduler.at(time, () => {
          scheduler.step("effect", client.index, number, words);
          request.run(isEcho).then(
            (value) => then(() => resolve(value)),
            (error) => then(() => reject(error)),
          );
          scheduler.settled();
        });
      const fails = (time: number) =>
        client.schedule(time, () => {
          scheduler.step("lost", client.index, number, words);
          reject(new ConnectionLost("the connection was lost"));
        });
      const replies = (settle: () => void) =>
        client.schedule(scheduler.now + this.#delay(), () => {
          scheduler.step("reply", client.index, number, words);
          settle();
        });
      const nothing = () => undefined;

      if (this.strikes("crashes", 0.004 * factor)) {
        if (this.#random.chance(0.5)) happens(scheduler.now + this.#delay(), nothing);
        return this.crash(client);
      }
      // A process can stop just before a request leaves it, or just after.
      const leaves = this.#pauses(client) && this.#random.chance(0.5) ? client.pausedUntil : scheduler.now;
      let arrives = leaves + this.#delay();
      if (request.kind !== "read" && this.strikes("days under way", daysUnderWay)) {
        arrives += (1 + this.#random.next() * (MOST_DAYS - 1)) * DAY;
        if (this.#random.chance(0.5)) {
          happens(arrives, nothing);
          return this.crash(client);
        }
      }
      if (this.strikes("lost requests", 0.02 * factor)) return fails(arrives);
      if (this.strikes("lost replies", 0.03 * factor))
        return happens(arrives, () => fails(scheduler.now + this.#delay()));
      if (this.strikes("late effects", 0.02 * factor)) {
        happens(arrives + this.#random.next() * 2 * MINUTE, nothing);
        return fails(leaves + this.#random.next() * 8 * SECOND);
      }
      if (request.kind !== "once" && this.strikes("doubled requests", 0.01 * factor)) {
        happens(arrives, nothing);
        return happens(arrives + this.#echoDelay(), replies, true);
      }
      happens(arrives, replies);
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
