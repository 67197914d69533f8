import type { Random } from "@scrollback/conformance/internal";
import type { SimulatedClient } from "./client.ts";
import { DAY, HOUR, MINUTE, type Network, SECOND } from "./network.ts";
import type { Profile } from "./profiles.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SimulatedThread } from "./thread.ts";

/** The time after an act in which a backend that deletes often does so. */
const SWEPT_OFTEN_MS = 10 * SECOND;

export interface PaceOptions {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly network: Network;
  readonly profile: Profile;
  readonly clients: readonly SimulatedClient[];
  readonly threads: readonly SimulatedThread[];
  /** By how many milliseconds the backend's clock is ahead. */
  readonly skew: number;
}

/** Determines the times of acts, and the times at which the backend deletes expired rows. */
export class Pace {
  readonly #options: PaceOptions;
  #silentUntil = 0;
  #lastAct = 0;

  constructor(options: PaceOptions) {
    this.#options = options;
  }

  /** The time of the next act. All acts after a silence begin at nearly the same time. */
  nextAct(): number {
    const { random, network, profile, scheduler } = this.#options;
    const { now } = scheduler;
    this.#lastAct = now;
    if (this.#silentUntil <= now && network.strikes("silences", profile.silences))
      this.#silentUntil = now + this.#drawSilence();
    if (this.#silentUntil > now) return this.#silentUntil + random.next() * 40;
    const kind = random.next();
    const [, upTo] = profile.waits.find(([share]) => kind < share) ?? [1, SECOND];
    return now + random.next() * upTo;
  }

  /** The time of the backend's next deletion. */
  nextSweep(): number {
    const { random, profile, scheduler } = this.#options;
    const { now } = scheduler;
    if (!profile.isSweptOften) return now + random.next() * (random.chance(0.2) ? 3 * MINUTE : 6 * HOUR);
    if (this.#silentUntil > now && random.chance(0.3)) return this.#silentUntil + random.next() * 60;
    const isOften = now - Math.max(this.#lastAct, this.#silentUntil) < SWEPT_OFTEN_MS;
    return now + random.next() * (isOften ? random.pick(30, 400) : 12 * HOUR);
  }

  #drawSilence(): number {
    const { random, profile } = this.#options;
    if (profile.isAimed) return this.#aim() ?? (3 + random.next() * 40) * DAY;
    const kind = random.next();
    if (profile.name === "busy")
      return random.next() * (kind < 0.4 ? 8 * SECOND : kind < 0.7 ? 30 * HOUR : 8 * DAY);
    return random.next() * (kind < 0.3 ? 3 * HOUR : kind < 0.65 ? 50 * DAY : 8 * DAY);
  }

  /** The approximate time until something of a thread expires, by any clock; undefined if nothing does. */
  #aim(): number | undefined {
    const { random, threads, clients, skew, scheduler } = this.#options;
    const { model } = threads[random.below(threads.length)] ?? {};
    const end = model?.endHead;
    if (!model || !end) return undefined;
    const times = [end.expiresAt, end.promisedUntil, end.keptUntil, model.rows.get(end.root)?.row.expiresAt];
    const time = times[random.below(times.length)];
    if (time === undefined) return undefined;
    const skews = [0, skew, ...clients.map((client) => client.skew)];
    const by = skews[random.below(skews.length)] ?? 0;
    const off = (random.next() * 2 - 1) * random.pick(2 * DAY, DAY, HOUR, MINUTE, SECOND);
    const length = time - by + off - scheduler.now;
    return length > 0 && length < 100 * DAY ? length : undefined;
  }
}
