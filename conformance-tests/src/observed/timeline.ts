import { formatRevision, REMEMBERED_OPERATIONS } from "@scrollback/store-core/driver";
import { parseRevision } from "@scrollback/store-core/internal";
import type { Observation, ObservedThread } from "./observation.ts";

/** The maximum difference of the clients' clock and the backend's clock, in microseconds. */
const CLOCK_SLACK = 60_000;

/** An event at a known position of the order: a commit made a slot's revision, or a read found it. */
export interface PlacedEvent {
  readonly slot: number;
  /** The last possible slot of an event that can be at several slots; otherwise `slot`. */
  readonly latest: number;
  readonly isCommit: boolean;
  readonly called: number;
  readonly returned: number;
  readonly what: string;
}

/** A revision that a call between two moments returned. */
type Sighting = Pick<PlacedEvent, "isCommit" | "called" | "returned"> & { readonly revision: string };

/**
 * All observed revisions of a thread in order, one slot each: the commits of an incarnation by their number. Before the first
 * incarnation and after each one there is a slot without a thread.
 */
export class Timeline {
  /** By slot; `null`: no thread. */
  readonly revisions: (string | null)[] = [null];
  readonly #slots = new Map<string, number>();
  /** The slots without a thread: after each incarnation, and the first slot, before any. */
  readonly gaps: number[] = [0];
  /** By slot without a thread: the time before which the thread of before had not expired. */
  readonly #expiries = new Map<number, number>();

  constructor(seen: readonly Sighting[], thread: ObservedThread) {
    const incarnations = new Map<string, Incarnation>();
    /** As they were observed, with their tags, by incarnation and number. */
    const tagged = new Map<string, string>();
    for (const sighting of seen) {
      const { incarnation, number } = parseRevision(sighting.revision);
      tagged.set(formatRevision(incarnation, number), sighting.revision);
      const known = incarnations.get(incarnation);
      incarnations.set(incarnation, {
        incarnation,
        newest: Math.max(number, known?.newest ?? 0),
        // It existed until the last call took effect, and until the last commit's ttl had passed.
        until: Math.max(
          sighting.called,
          sighting.isCommit ? expiryOf(sighting, thread).earliest : 0,
          known?.until ?? 0,
        ),
        by: Math.min(sighting.returned, known?.by ?? sighting.returned),
      });
    }
    for (const { incarnation, newest, until } of inOrder([...incarnations.values()])) {
      for (let number = 1; number <= newest; number++) {
        const bare = formatRevision(incarnation, number);
        const revision = tagged.get(bare) ?? bare;
        this.#slots.set(revision, this.revisions.length);
        this.revisions.push(revision);
      }
      this.gaps.push(this.revisions.length);
      this.#expiries.set(this.revisions.length, until);
      this.revisions.push(null);
    }
  }

  slotOf(revision: string): number {
    return this.#slots.get(revision) ?? 0;
  }

  /** The next slot without a thread after a slot, or the slot itself. */
  gapFrom(slot: number): number {
    return this.gaps.find((gap) => gap >= slot) ?? 0;
  }

  /** The last slot without a thread up to another slot, which may be infinite. */
  gapUpTo(slot: number): number {
    return lastWhere(this.gaps, (gap) => gap <= slot) ?? 0;
  }

  /** Whether an operation id that was used at a slot may be forgotten at a later slot: by many commits or by expiry. */
  isForgottenBetween(slot: number, later: number): boolean {
    return later - slot > REMEMBERED_OPERATIONS || this.gapFrom(slot) <= later;
  }

  /** The last slot up to another one, which may be infinite, that may have been reached at a moment. */
  reachableSlot(highest: number, time: number): number {
    const slot = Math.min(highest, this.revisions.length - 1);
    return (this.#expiries.get(slot) ?? 0) > time ? slot - 1 : slot;
  }

  isGap(slot: number): boolean {
    return this.revisions[slot] === null;
  }
}

/** One incarnation of a thread: it certainly began before one moment, and did not end before another. */
interface Incarnation {
  readonly incarnation: string;
  readonly newest: number;
  readonly by: number;
  readonly until: number;
}

/** The order of the incarnations that no pair contradicts. If several orders remain, the one observed first comes first. */
function inOrder(incarnations: readonly Incarnation[]): Incarnation[] {
  const left = incarnations.toSorted((one, other) => one.by - other.by);
  const ordered: Incarnation[] = [];
  while (left.length > 0) {
    const next = left.findIndex((one) => left.every((other) => other === one || other.by >= one.until));
    ordered.push(...left.splice(Math.max(0, next), 1));
  }
  return ordered;
}

/** The first and the last possible slot of an event between two moments, from the events at known positions. */
export class Bounds {
  readonly #byReturn: { readonly time: number; readonly slot: number; readonly isCommit: boolean }[] = [];
  readonly #byCall: { readonly time: number; readonly slot: number }[] = [];

  constructor(events: readonly PlacedEvent[]) {
    let slot = 0;
    for (const event of events.toSorted((one, other) => one.returned - other.returned)) {
      slot = Math.max(slot, event.slot);
      this.#byReturn.push({ time: event.returned, slot, isCommit: event.isCommit });
    }
    let highest = Number.POSITIVE_INFINITY;
    for (const event of events.toSorted((one, other) => other.called - one.called)) {
      highest = Math.min(highest, event.isCommit ? event.slot - 1 : event.latest);
      this.#byCall.push({ time: event.called, slot: highest });
    }
  }

  /** The highest slot that was reached before a moment. */
  reachedBefore(time: number): number {
    return lastWhere(this.#byReturn, (event) => event.time < time)?.slot ?? 0;
  }

  /** The highest slot that may have been reached at a moment: events that were requested later are after it. */
  reachableBy(time: number): number {
    return lastWhere(this.#byCall, (event) => event.time > time)?.slot ?? Number.POSITIVE_INFINITY;
  }
}

/** The last value for which a condition is true that is true for all values before it. */
export function lastWhere<T>(values: readonly T[], holds: (value: T) => boolean): T | undefined {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const value = values[middle];
    if (value !== undefined && holds(value)) low = middle + 1;
    else high = middle;
  }
  return values[low - 1];
}

/** The events that contradict the order of time: they are before a slot that had been reached when they were requested. */
export function checkTimes(events: readonly PlacedEvent[], timeline: Timeline): string[] {
  const bounds = new Bounds(events);
  return events.flatMap((event) => {
    const reached = bounds.reachedBefore(event.called);
    if (event.isCommit ? event.slot > reached : event.slot >= reached) return [];
    const [was, is] = [timeline.revisions[reached], timeline.revisions[event.slot]];
    return [
      `${event.isCommit ? "C1: a commit" : "C3: a read"} came to ${is}, but ${was} was reached before it began: ${event.what}`,
    ];
  });
}

/** The expiry of a thread whose last commit was between two moments: the earliest and the latest possible time. */
export function expiryOf(
  { called, returned }: Pick<Observation, "called" | "returned">,
  { ttlMs = Number.POSITIVE_INFINITY }: ObservedThread,
): { earliest: number; latest: number } {
  return { earliest: called + ttlMs * 1_000 - CLOCK_SLACK, latest: returned + ttlMs * 1_000 + CLOCK_SLACK };
}
