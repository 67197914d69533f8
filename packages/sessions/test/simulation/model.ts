// Exceeds 300 lines because every observation is checked against the same record of what was created, appended and deleted.
import { isDeepStrictEqual } from "node:util";
import { type Interval, Register, SimulationFailure } from "@scrollback/conformance";
import type { Session, SessionEvent } from "../../src/index.ts";

/** An attempt to create a session. The state of the session names it, so that a session that is read is known by it. */
export interface Creation extends Interval {
  readonly origin: string;
  readonly key: string;
  readonly state: Readonly<Record<string, unknown>>;
  /** When it was known to have happened, if it is not known from the call itself. */
  seenAt: number;
}

/** An event with all attempts to append it. */
export interface Append {
  readonly event: SessionEvent;
  readonly key: string;
  readonly delta: Readonly<Record<string, unknown>>;
  readonly attempts: Interval[];
  /** From its first attempt to the end of the first that was acknowledged. */
  readonly interval: Interval;
  /** When a reader first saw the event. */
  seenAt: number;
}

/** What one session, from its creation to its end, was seen to be. */
class Incarnation {
  readonly #registers = new Map<string, Register>();
  /** The longest list of events that was read. */
  log: readonly SessionEvent[] = [];
  /** By id: when an event was known to be there. */
  readonly known = new Map<string, number>();
  readonly creation: Creation;

  constructor(creation: Creation) {
    this.creation = creation;
  }

  register(key: string): Register {
    const register = this.#registers.get(key) ?? new Register(this.creation.state[key]);
    this.#registers.set(key, register);
    return register;
  }

  problem(): string | undefined {
    for (const [key, register] of this.#registers) {
      const problem = register.problem();
      if (problem) return `${this.creation.origin}: ${key}: ${problem}`;
    }
    return undefined;
  }
}

interface Sight extends Interval {
  readonly origin: string | undefined;
}

/**
 * What sessions must be, by what callers did and what they read:
 *
 * - the events of a session are a list that only grows; an acknowledged event is in it, once, behind those that were
 *   acknowledged before it was begun
 * - the session's own state is that of its creation with the deltas of its events; each key of an app's, a user's or a
 *   session's state is what the newest write made it, where a write of unknown outcome counts wholly or not
 * - a session that was created is listed until it is deleted, and one that was deleted is not
 */
export class SessionModel {
  readonly #incarnations = new Map<string, Incarnation>();
  readonly #appends = new Map<string, Append>();
  readonly #shared = new Map<string, Register>();
  /** By session. */
  readonly #deletions = new Map<string, Interval[]>();
  readonly #sights = new Map<string, Sight[]>();
  readonly #hasRightClocks: boolean;

  constructor(hasRightClocks: boolean) {
    this.#hasRightClocks = hasRightClocks;
  }

  creates(creation: Creation): void {
    const incarnation = new Incarnation(creation);
    this.#incarnations.set(creation.origin, incarnation);
    this.#writes(creation.key, creation.state, creation);
  }

  appends(append: Append): void {
    this.#appends.set(append.event.id, append);
    this.#writes(append.key, append.delta, append.interval);
  }

  /** Sets values without an event, of a session of any origin. */
  updates(key: string, values: Readonly<Record<string, unknown>>, interval: Interval): void {
    this.#writes(key, values, interval);
  }

  deletes(key: string, interval: Interval): void {
    const deletions = this.#deletions.get(key) ?? [];
    this.#deletions.set(key, [...deletions, interval]);
  }

  /** An event that was acknowledged is in the session that the session object now is. */
  appended(append: Append, session: Session, end: number): void {
    const incarnation = this.#incarnationOf(append.key, session);
    append.interval.end = Math.min(append.interval.end, end);
    const { id } = append.event;
    incarnation.known.set(id, Math.min(incarnation.known.get(id) ?? end, end));
  }

  /** What a call returned of a session. `hasAll`: with all of its events. */
  sees(key: string, session: Session | undefined, interval: Interval, hasAll: boolean): void {
    const { start, end } = interval;
    const sights = this.#sights.get(key) ?? [];
    const origin = session && this.#incarnationOf(key, session).creation.origin;
    this.#sights.set(key, [...sights, { start, end, origin }]);
    if (!session) return;
    const incarnation = this.#incarnationOf(key, session);
    incarnation.creation.seenAt = Math.min(incarnation.creation.seenAt, end);
    this.#readState(key, incarnation, session, interval);
    if (hasAll) this.#readEvents(incarnation, session, interval);
  }

  /** A list of all sessions of a user or of an app, by their keys. */
  lists(sessions: ReadonlyMap<string, Session>, covers: (key: string) => boolean, interval: Interval): void {
    const { start, end } = interval;
    for (const { creation } of this.#incarnations.values()) {
      const { key, origin } = creation;
      if (!covers(key) || knownAt(creation) >= start || this.#mayBeDeleted(creation, end)) continue;
      if (sessions.get(key)?.state.origin !== origin)
        fail("listed", `${key} of ${origin} was created and is not in a list`);
    }
    for (const [key, session] of sessions) this.sees(key, session, interval, false);
  }

  /** Checks what can only be told of the whole run. */
  check(): void {
    for (const incarnation of this.#incarnations.values()) {
      this.#writeOwnState(incarnation);
      const problem = incarnation.problem();
      if (problem) fail("own state", problem);
      this.#checkOrder(incarnation);
    }
    for (const append of this.#appends.values()) {
      if (this.#mayBeTwice(append)) this.#ignore(append);
      // A reader that shows an event whose writer died has applied what it sets for the app and the user. Where clocks are
      // wrong, it may have taken what an earlier writer has set for newer.
      else if (this.#hasRightClocks && append.interval.end === Number.POSITIVE_INFINITY)
        append.interval.end = append.seenAt;
    }
    for (const [key, register] of this.#shared) {
      const problem = register.problem();
      if (problem) fail("shared state", `${key}: ${problem}`);
    }
    for (const [key, sights] of this.#sights) this.#checkExistence(key, sights);
  }

  #incarnationOf(key: string, { state }: Session): Incarnation {
    const incarnation = this.#incarnations.get(String(state.origin));
    if (!incarnation || incarnation.creation.key !== key)
      return fail("isolation", `${key} has the origin ${String(state.origin)}`);
    return incarnation;
  }

  #writes(key: string, values: Readonly<Record<string, unknown>>, interval: Interval): void {
    for (const [name, value] of Object.entries(values)) {
      if (/^(app|user):/.test(name)) this.#sharedOf(key, name).wrote(value, interval);
    }
  }

  /** The register of a key of the app's or of a user's state. */
  #sharedOf(key: string, name: string): Register {
    const place = name.startsWith("user:") ? `${key.split("/")[0]} ${name}` : name;
    const register = this.#shared.get(place) ?? new Register();
    this.#shared.set(place, register);
    return register;
  }

  #readState(key: string, incarnation: Incarnation, { state, title }: Session, interval: Interval): void {
    for (const name of sharedKeys) this.#sharedOf(key, name).read(state[name], interval);
    for (const name of ownKeys) incarnation.register(name).read(state[name], interval);
    incarnation.register("title").read(title, interval);
  }

  #readEvents(
    incarnation: Incarnation,
    { events, state, lastUpdateTime }: Session,
    { start, end }: Interval,
  ): void {
    const { origin } = incarnation.creation;
    const [shorter, longer] =
      events.length < incarnation.log.length ? [events, incarnation.log] : [incarnation.log, events];
    for (const [index, event] of shorter.entries()) {
      if (event.id !== longer[index]?.id)
        fail("events", `${origin}: event ${index} was ${longer[index]?.id} and ${event.id}`);
    }
    const ids = new Set(events.map(({ id }) => id));
    if (ids.size < events.length) fail("events", `${origin}: an event is there twice`);
    for (const [id, since] of incarnation.known) {
      if (since < start && !ids.has(id)) fail("events", `${origin}: ${id} was acknowledged and is not there`);
    }
    const fold: Record<string, unknown> = { ...incarnation.creation.state };
    for (const event of events) {
      const append = this.#appends.get(event.id);
      if (!append || !isDeepStrictEqual(event, append.event))
        fail("events", `${origin}: ${event.id} is not what was appended`);
      Object.assign(fold, append.delta);
      append.seenAt = Math.min(append.seenAt, end);
      incarnation.known.set(event.id, Math.min(incarnation.known.get(event.id) ?? end, end));
    }
    if (state.folded !== fold.folded)
      fail("own state", `${origin}: folded is ${state.folded}, not ${fold.folded}`);
    const last = events.at(-1)?.timestamp;
    if (last !== undefined && lastUpdateTime !== last)
      fail("events", `${origin}: lastUpdateTime is not ${last}`);
    incarnation.log = longer;
  }

  /** Which session of its id a write went to may not be known. Then it may have gone to any of them. */
  #writeOwnState(incarnation: Incarnation): void {
    for (const { event, key, delta, interval } of this.#appends.values()) {
      if (key !== incarnation.creation.key) continue;
      const end = incarnation.known.get(event.id) ?? Number.POSITIVE_INFINITY;
      for (const name of ownKeys) {
        if (Object.hasOwn(delta, name))
          incarnation.register(name).wrote(delta[name], { start: interval.start, end });
      }
    }
    for (const { key, values, interval } of this.ownUpdates) {
      if (key !== incarnation.creation.key) continue;
      for (const [name, value] of Object.entries(values)) {
        if (!/^(app|user):/.test(name))
          incarnation.register(name).wrote(value, { ...interval, end: Number.POSITIVE_INFINITY });
      }
    }
  }

  readonly ownUpdates: { key: string; values: Readonly<Record<string, unknown>>; interval: Interval }[] = [];

  #checkOrder({ log, creation, known }: Incarnation): void {
    // Of two events the one that was there before the other was begun comes first.
    let latestStart = 0;
    for (const { id } of log) {
      const append = this.#appends.get(id);
      if (!append) continue;
      if ((known.get(id) ?? Number.POSITIVE_INFINITY) < latestStart)
        fail("order", `${creation.origin}: ${id} comes behind an event that was begun after it`);
      latestStart = Math.max(latestStart, append.interval.start);
    }
  }

  /** An event may be appended to one session by an attempt and to the next session of its id by another. */
  #mayBeTwice({ key, attempts, interval }: Append): boolean {
    const deletions = this.#deletions.get(key) ?? [];
    return attempts.length > 1 && deletions.some(({ end }) => end > interval.start);
  }

  #ignore({ key, delta }: Append): void {
    for (const [name, value] of Object.entries(delta)) {
      if (/^(app|user):/.test(name)) this.#sharedOf(key, name).ignore(value);
    }
  }

  /** Whether a session that was created may be gone at a moment. */
  #mayBeDeleted({ key, start }: Creation, at: number): boolean {
    return (this.#deletions.get(key) ?? []).some((deletion) => deletion.end > start && deletion.start < at);
  }

  #checkExistence(key: string, sights: readonly Sight[]): void {
    const incarnations = [...this.#incarnations.values()].filter(({ creation }) => creation.key === key);
    const order = new Register();
    for (const { creation } of incarnations) {
      order.wrote(creation.origin, { start: creation.start, end: knownAt(creation) });
    }
    for (const sight of sights) {
      if (sight.origin !== undefined) order.read(sight.origin, sight);
      for (const { creation } of incarnations) {
        if (creation.origin === sight.origin || knownAt(creation) >= sight.start) continue;
        if (!this.#mayBeDeleted(creation, sight.end))
          fail("existence", `${key} of ${creation.origin} was created, and was not there`);
      }
      for (const deletion of this.#deletions.get(key) ?? []) {
        const creation = incarnations.find(
          (incarnation) => incarnation.creation.origin === sight.origin,
        )?.creation;
        if (creation && deletion.end < sight.start && knownAt(creation) < deletion.start)
          fail("existence", `${key} of ${creation.origin} was deleted, and was there`);
      }
    }
    const problem = order.problem();
    if (problem) fail("existence", `${key}: ${problem}`);
  }
}

export const sharedKeys = ["app:one", "app:two", "user:one", "user:two"] as const;
/** `folded` is set by events alone. */
export const ownKeys = ["folded", "own"] as const;

function knownAt({ end, seenAt }: Creation): number {
  return Math.min(end, seenAt);
}

function fail(rule: string, message: string): never {
  throw new SimulationFailure(rule, message);
}
