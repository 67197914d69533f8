import type { Clock } from "@scrollback/store-core/internal";

const stampsByClock = new WeakMap<Clock, Stamps>();

/** The stamps of all services with the same clock: services of one process share them. */
export function stampsOf(clock: Clock): Stamps {
  const stamps = stampsByClock.get(clock) ?? new Stamps(clock);
  stampsByClock.set(clock, stamps);
  return stamps;
}

/** Assigns times to writes. */
export class Stamps {
  readonly #clock: Clock;
  #last = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Returns a time in microseconds since 1970, later than all previous ones and than `known`. Only writes that are finished
   * on behalf of a dead process are compared by it.
   */
  next(known = 0): number {
    this.#last = Math.max(this.#clock.wall() * 1_000, this.#last + 1, known + 1);
    return this.#last;
  }
}
