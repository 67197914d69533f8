import { REMEMBERED_OPERATIONS } from "@scrollback/store-core";
import type { Observation, ObservedThread } from "./observation.ts";

/** A client's clock is read before a call and after it; the backend's own clock may be this far off, in microseconds. */
const CLOCK_SLACK = 60_000;

/** Something that happened at a known place of the order: a commit made a slot's revision, or a read found it. */
export interface PlacedEvent {
  readonly slot: number;
  /** The last slot where it can lie as well, of what may lie at several; otherwise `slot`. */
  readonly latest: number;
  readonly isCommit: boolean;
  readonly called: number;
  readonly returned: number;
  readonly what: string;
}

/** A revision that somebody was told, by a call between two moments. */
type Sighting = Pick<PlacedEvent, "isCommit" | "called" | "returned"> & { readonly revision: string };

/**
 * All revisions that a thread was seen at, in their order, one slot each: the commits of an incarnation by their number, and
 * before the first incarnation and after each a slot where the thread is not there.
 */
export class Timeline {
  /** By slot; `null`: the thread is not there. */
  readonly revisions: (string | null)[] = [null];
  readonly #slots = new Map<string, number>();
  /** The slots behind each incarnation, where the thread is gone, and the first: before any. */
  readonly gaps: number[] = [0];

  constructor(seen: readonly Sighting[], thread: ObservedThread) {
    const incarnations = new Map<string, Incarnation>();
    for (const sighting of seen) {
      const { incarnation, number } = parseRevision(sighting.revision);
      const known = incarnations.get(incarnation);
      incarnations.set(incarnation, {
        incarnation,
        newest: Math.max(number, known?.newest ?? 0),
        // It was there until what was called last came, and until the last commit's time to live was over.
        until: Math.max(
          sighting.called,
          sighting.isCommit ? expiryOf(sighting, thread).earliest : 0,
          known?.until ?? 0,
        ),
        by: Math.min(sighting.returned, known?.by ?? sighting.returned),
      });
    }
    for (const { incarnation, newest } of inOrder([...incarnations.values()])) {
      for (let number = 1; number <= newest; number++) {
        this.#slots.set(`${incarnation}.${number}`, this.revisions.length);
        this.revisions.push(`${incarnation}.${number}`);
      }
      this.gaps.push(this.revisions.length);
      this.revisions.push(null);
    }
  }

  slotOf(revision: string): number {
    return this.#slots.get(revision) ?? 0;
  }

  /** The slot in which the thread is gone after a slot, or the slot itself. */
  gapFrom(slot: number): number {
    return this.gaps.find((gap) => gap >= slot) ?? 0;
  }

  /** The last slot up to another, which may be infinite, in which the thread is not there. */
  gapUpTo(slot: number): number {
    return lastWhere(this.gaps, (gap) => gap <= slot) ?? 0;
  }

  /** Whether an operation id that was used at a slot may be forgotten at a later one: so many came since, or it expired. */
  isForgottenBetween(slot: number, later: number): boolean {
    return later - slot > REMEMBERED_OPERATIONS || this.gapFrom(slot) < later;
  }

  isGap(slot: number): boolean {
    return this.revisions[slot] === null;
  }
}

/** One incarnation of a thread: surely there by a moment, and not over before another. */
interface Incarnation {
  readonly incarnation: string;
  readonly newest: number;
  readonly by: number;
  readonly until: number;
}

/** The order that no two incarnations contradict; where several are left, the one that was seen first comes first. */
function inOrder(incarnations: readonly Incarnation[]): Incarnation[] {
  const left = incarnations.toSorted((one, other) => one.by - other.by);
  const ordered: Incarnation[] = [];
  while (left.length > 0) {
    const next = left.findIndex((one) => left.every((other) => other === one || other.by >= one.until));
    ordered.push(...left.splice(Math.max(0, next), 1));
  }
  return ordered;
}

/** A revision as every driver makes it, see `formatRevision`. */
export function parseRevision(revision: string): { incarnation: string; number: number } {
  const dot = revision.lastIndexOf(".");
  return { incarnation: revision.slice(0, dot), number: Number(revision.slice(dot + 1)) };
}

/** From which slot on, and up to which, something between two moments can lie, given events at known places. */
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

  /** The highest slot that may have been reached at a moment: what was asked for later lies behind it. */
  reachableBy(time: number): number {
    return lastWhere(this.#byCall, (event) => event.time > time)?.slot ?? Number.POSITIVE_INFINITY;
  }
}

/** The last value for which something holds that holds for all before it. */
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

/** What went back in time: read or committed before something that had been reached when it was asked for. */
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

/** When a thread expires that was last written by a commit between two moments: from when on, and when surely. */
export function expiryOf(
  { called, returned }: Pick<Observation, "called" | "returned">,
  { ttlMs = Number.POSITIVE_INFINITY }: ObservedThread,
): { earliest: number; latest: number } {
  return { earliest: called + ttlMs * 1_000 - CLOCK_SLACK, latest: returned + ttlMs * 1_000 + CLOCK_SLACK };
}
