// Exceeds 300 lines because every observation is checked against the same record of creations, appends and deletions.
import { isDeepStrictEqual } from "node:util";
import { type Interval, Register, SimulationFailure } from "@scrollback/simulator";
import type { Session, SessionEvent } from "../../src/index.ts";

/** An attempt to create a session. The session's state contains its origin, which identifies the attempt in later reads. */
export interface Creation extends Interval {
  readonly origin: string;
  readonly key: string;
  readonly state: Readonly<Record<string, unknown>>;
  /** The time at which a read proved the creation, if the call itself did not. */
  seenAt: number;
}

/** An event with all attempts to append it. */
export interface Append {
  readonly event: SessionEvent;
  readonly key: string;
  readonly delta: Readonly<Record<string, unknown>>;
  readonly attempts: Interval[];
  /** From the first attempt to the end of the first acknowledged attempt. */
  readonly interval: Interval;
  /** The time at which a reader first saw the event. */
  seenAt: number;
}

/** The observations of one session, from its creation to its end. */
class Incarnation {
  readonly #registers = new Map<string, Register>();
  /** The longest list of events read so far. */
  log: readonly SessionEvent[] = [];
  /** By event id: the time since which the event is known to be stored. */
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
 * The invariants of sessions, checked against the writes and reads of the callers:
 *
 * - the events of a session are a list that only grows; each acknowledged event is in it once, after the events that were
 *   acknowledged before it was begun
 * - the session's own state is its initial state with the deltas of its events; each key of an app's, a user's or a
 *   session's state has the value of the newest write; a write of unknown outcome counts completely or not at all
 * - a session whose creation returned is listed until it is deleted; a deleted session is not listed
 */
export class SessionModel {
  readonly #incarnations = new Map<string, Incarnation>();
  readonly #appends = new Map<string, Append>();
  readonly #shared = new Map<string, Register>();
  /** By session key. */
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

  /** Records an update of values without an event, for a session of unknown origin. */
  updates(key: string, values: Readonly<Record<string, unknown>>, interval: Interval): void {
    this.#writes(key, values, interval);
  }

  deletes(key: string, interval: Interval): void {
    const deletions = this.#deletions.get(key) ?? [];
    this.#deletions.set(key, [...deletions, interval]);
  }

  /** Records an acknowledged append: the event is in the session that the session object identifies. */
  appended(append: Append, session: Session, end: number): void {
    const incarnation = this.#incarnationOf(append.key, session);
    append.interval.end = Math.min(append.interval.end, end);
    const { id } = append.event;
    incarnation.known.set(id, Math.min(incarnation.known.get(id) ?? end, end));
  }

  /** Records the session that a call returned. `hasAll`: with all of its events. */
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

  /** Records a list of all sessions of a user or an app, by their keys. */
  lists(sessions: ReadonlyMap<string, Session>, covers: (key: string) => boolean, interval: Interval): void {
    const { start, end } = interval;
    for (const { creation } of this.#incarnations.values()) {
      const { key, origin } = creation;
      // One whose process died within the creation is listed for a day, and again when it is read or written.
      if (!covers(key) || creation.end >= start || this.#mayBeDeleted(creation, end)) continue;
      if (sessions.get(key)?.state.origin !== origin)
        fail("listed", `${key} of ${origin} was created and is not in a list`);
    }
    for (const [key, session] of sessions) this.sees(key, session, interval, false);
  }

  /** Checks the properties of the complete run. */
  check(): void {
    for (const incarnation of this.#incarnations.values()) {
      this.#writeOwnState(incarnation);
      const problem = incarnation.problem();
      if (problem) fail("own state", problem);
      this.#checkOrder(incarnation);
    }
    for (const append of this.#appends.values()) {
      if (this.#mayBeTwice(append)) this.#ignore(append);
      // A reader that returns an event of a dead writer has applied its state of the app and the user. With wrong clocks, the
      // reader may have treated the value of an earlier writer as newer.
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
    if (ids.size < events.length) fail("events", `${origin}: an event is in the list twice`);
    for (const [id, since] of incarnation.known) {
      if (since < start && !ids.has(id)) fail("events", `${origin}: ${id} was acknowledged and is missing`);
    }
    const fold: Record<string, unknown> = { ...incarnation.creation.state };
    for (const event of events) {
      const append = this.#appends.get(event.id);
      if (!append || !isDeepStrictEqual(event, append.event))
        fail("events", `${origin}: ${event.id} differs from the appended event`);
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

  /** The incarnation that a write changed may be unknown. Then the model allows all incarnations with the same key. */
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
    // An event that was stored before another one was begun comes first.
    let latestStart = 0;
    for (const { id } of log) {
      const append = this.#appends.get(id);
      if (!append) continue;
      if ((known.get(id) ?? Number.POSITIVE_INFINITY) < latestStart)
        fail("order", `${creation.origin}: ${id} comes after an event that was begun later`);
      latestStart = Math.max(latestStart, append.interval.start);
    }
  }

  /** One attempt may append an event to a session, and another attempt to the next session with the same id. */
  #mayBeTwice({ key, attempts, interval }: Append): boolean {
    const deletions = this.#deletions.get(key) ?? [];
    return attempts.length > 1 && deletions.some(({ end }) => end > interval.start);
  }

  #ignore({ key, delta }: Append): void {
    for (const [name, value] of Object.entries(delta)) {
      if (/^(app|user):/.test(name)) this.#sharedOf(key, name).ignore(value);
    }
  }

  /** Whether a created session may be deleted at a given time. */
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
          fail("existence", `${key} of ${creation.origin} was created, but was missing`);
      }
      for (const deletion of this.#deletions.get(key) ?? []) {
        const creation = incarnations.find(
          (incarnation) => incarnation.creation.origin === sight.origin,
        )?.creation;
        if (creation && deletion.end < sight.start && knownAt(creation) < deletion.start)
          fail("existence", `${key} of ${creation.origin} was deleted, but was still readable`);
      }
    }
    const problem = order.problem();
    if (problem) fail("existence", `${key}: ${problem}`);
  }
}

export const sharedKeys = ["app:one", "app:two", "user:one", "user:two"] as const;
/** Only events set `folded`. */
export const ownKeys = ["folded", "own"] as const;

function knownAt({ end, seenAt }: Creation): number {
  return Math.min(end, seenAt);
}

function fail(rule: string, message: string): never {
  throw new SimulationFailure(rule, message);
}
