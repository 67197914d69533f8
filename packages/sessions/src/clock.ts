import { type DirectoryClock, systemDirectoryClock } from "@scrollback/collections";
import { type Clock, systemClock } from "@scrollback/store-core";

/** The clocks, timers and random numbers that a service uses. Tests and simulations give their own. */
export interface SessionClock extends Clock, DirectoryClock {}

/** The clocks and timers of this process. */
export const systemSessionClock: SessionClock = Object.freeze({ ...systemDirectoryClock, ...systemClock });

const stampsByClock = new WeakMap<SessionClock, Stamps>();

/** The stamps of all services that go by a clock: those of one process share them. */
export function stampsOf(clock: SessionClock): Stamps {
  const stamps = stampsByClock.get(clock) ?? new Stamps(clock);
  stampsByClock.set(clock, stamps);
  return stamps;
}

/** Gives moments to writes. */
export class Stamps {
  readonly #clock: Clock;
  #last = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * A moment in microseconds since the epoch, later than any that was given before and than `known`. Only what is finished
   * for a process that died is ever compared by it.
   */
  next(known = 0): number {
    this.#last = Math.max(this.#clock.wall() * 1_000, this.#last + 1, known + 1);
    return this.#last;
  }
}
