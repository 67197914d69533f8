import type { ObservedThread } from "./observation.ts";
import type { Operation } from "./operations.ts";
import { applyChange, NOTHING, type ThreadState } from "./thread-model.ts";
import { Bounds, type PlacedEvent, type Timeline } from "./timeline.ts";

/** The maximum number of attempts, far more than a sound run needs. A history that needs more counts as not explained. */
const MOST_STEPS = 300_000;

/** Returns the observation that contradicts the states up to a slot; undefined if none does. */
export type CheckStates = (slot: number, states: readonly ThreadState[]) => string | undefined;

/** An order that explains a thread: the state at each slot, and the operation that made it. */
export interface Explanation {
  readonly states: readonly ThreadState[];
  readonly made: readonly (Operation | undefined)[];
}

interface Choice {
  readonly slot: number;
  readonly options: readonly Operation[];
  next: number;
}

/**
 * Finds the operation that made each revision. Most operations have their revision. The other revisions were made by operations
 * with an unknown outcome, which are tried one after another. The reads of each revision reveal a wrong choice at once, so
 * backtracking is rare.
 *
 * @returns an explanation, or the reason why there is none.
 */
export function fillTimeline(
  timeline: Timeline,
  operations: readonly Operation[],
  events: readonly PlacedEvent[],
  thread: ObservedThread,
  checkStates: CheckStates,
): Explanation | string {
  return new Filling(timeline, operations, events, thread, checkStates).run();
}

class Filling {
  readonly #timeline: Timeline;
  readonly #thread: ObservedThread;
  readonly #checkStates: CheckStates;
  readonly #pinned = new Map<number, Operation>();
  readonly #floating: readonly Operation[];
  readonly #all: readonly Operation[];
  readonly #bounds: Bounds;
  readonly #states: ThreadState[] = [];
  readonly #made: (Operation | undefined)[] = [];
  /** The pops that must have a position by a slot. */
  readonly #due: ReadonlyMap<number, readonly Operation[]>;
  readonly #usedAt = new Map<Operation, number>();
  readonly #choices: Choice[] = [];
  #deepest = { slot: -1, problem: "" };

  constructor(
    timeline: Timeline,
    operations: readonly Operation[],
    events: readonly PlacedEvent[],
    thread: ObservedThread,
    checkStates: CheckStates,
  ) {
    this.#timeline = timeline;
    this.#thread = thread;
    this.#checkStates = checkStates;
    this.#bounds = new Bounds(events);
    this.#all = operations;
    this.#floating = operations.filter(({ revisions, isDenied }) => revisions.size === 0 && !isDenied);
    const last = timeline.revisions.length - 1;
    const taken = this.#floating.filter(({ takes }) => takes !== undefined);
    this.#due = Map.groupBy(taken, ({ until }) => Math.min(this.#bounds.reachableBy(until), last));
    for (const operation of operations) {
      for (const revision of operation.revisions.keys())
        this.#pinned.set(timeline.slotOf(revision), operation);
    }
  }

  run(): Explanation | string {
    let steps = 0;
    for (let slot = 0; ; slot++) {
      if (slot === this.#timeline.revisions.length) return { states: this.#states, made: this.#made };
      const problem = this.#enter(slot);
      if (problem === undefined) continue;
      this.#note(slot, problem);
      const back = ++steps > MOST_STEPS ? undefined : this.#goBack();
      if (back === undefined) return this.#deepest.problem;
      slot = back;
    }
  }

  #note(slot: number, problem: string): void {
    if (slot > this.#deepest.slot) this.#deepest = { slot, problem };
  }

  #enter(slot: number): string | undefined {
    if (this.#timeline.isGap(slot)) return this.#put(slot, undefined);
    const pinned = this.#pinned.get(slot);
    if (pinned) return this.#put(slot, pinned);
    const options = this.#optionsAt(slot);
    this.#choices.push({ slot, options, next: 0 });
    return this.#tryNext();
  }

  /** Tries the next option of the last choice that has one, and returns its slot if one fits. */
  #goBack(): number | undefined {
    for (;;) {
      const choice = this.#choices.at(-1);
      if (!choice) return undefined;
      for (const [operation, slot] of this.#usedAt) if (slot >= choice.slot) this.#usedAt.delete(operation);
      this.#states.length = choice.slot;
      this.#made.length = choice.slot;
      if (this.#tryNext() === undefined) return choice.slot;
    }
  }

  #tryNext(): string | undefined {
    const choice = this.#choices.at(-1);
    if (!choice) return undefined;
    let problem = `C17: revision ${this.#timeline.revisions[choice.slot]} was made by no commit that anybody asked for`;
    for (; choice.next < choice.options.length; ) {
      const operation = choice.options[choice.next++];
      if (!operation) continue;
      const found = this.#put(choice.slot, operation);
      if (found === undefined) {
        this.#usedAt.set(operation, choice.slot);
        return undefined;
      }
      problem = found;
    }
    this.#choices.pop();
    this.#note(choice.slot, problem);
    return problem;
  }

  #put(slot: number, operation: Operation | undefined): string | undefined {
    const before = this.#states[slot - 1] ?? NOTHING;
    if (operation) {
      const was = this.#timeline.revisions[slot - 1] ?? null;
      if (operation.expected !== undefined && operation.expected !== was) {
        return `C5: a commit that expected ${operation.expected} was made at ${was}: ${operation.what}`;
      }
      if (operation.takes !== undefined && before.texts.at(-1) !== operation.takes) {
        return `C5: a pop took what was not the newest message at ${was}: ${operation.what}`;
      }
    }
    const state = operation ? applyChange(before, operation.change, this.#thread) : NOTHING;
    this.#states.length = slot;
    this.#states[slot] = state;
    this.#made[slot] = operation;
    return this.#checkStates(slot, this.#states) ?? this.#checkDue(slot, operation);
  }

  /** A pop that returned a message must have a position before anything that was requested later. */
  #checkDue(slot: number, operation: Operation | undefined): string | undefined {
    const missing = this.#due.get(slot)?.find((one) => one !== operation && !this.#usedAt.has(one));
    return missing && `C5: a message was taken that no order has: ${missing.what}`;
  }

  /** The operations that may have made an unreported revision: calls with an unknown outcome, then forgotten ids. */
  #optionsAt(slot: number): Operation[] {
    const fits = (operation: Operation) =>
      this.#bounds.reachedBefore(operation.called) < slot &&
      this.#bounds.reachableBy(operation.until) >= slot;
    const newest = this.#states[slot - 1]?.texts.at(-1);
    const free = this.#floating.filter(
      (one) => !this.#usedAt.has(one) && (one.takes === undefined || one.takes === newest) && fits(one),
    );
    const forgotten = this.#all.filter((one) => this.#isForgotten(one, slot) && fits(one));
    // Of operations with the same effect, one is sufficient. A pop with a known result must have a position.
    const known = new Map<string, Operation>();
    for (const one of [...free.filter(({ takes }) => takes !== undefined), ...free, ...forgotten]) {
      const { change, expected, takes } = one;
      const effect = JSON.stringify({ change, expected, takes });
      if (!known.has(effect)) known.set(effect, one);
    }
    return [...known.values()];
  }
  /** Whether an operation may have taken effect at a slot, with its id forgotten when it was sent again. */
  #isForgotten(operation: Operation, slot: number): boolean {
    const timeline = this.#timeline;
    const used = this.#usedAt.get(operation);
    if (operation.isDenied) {
      const latest = timeline.reachableSlot(this.#bounds.reachableBy(operation.until), operation.until);
      return used === undefined && timeline.isForgottenBetween(slot, latest);
    }
    const places = [...operation.revisions.keys()].map((revision) => timeline.slotOf(revision));
    if (used !== undefined) places.push(used);
    const isFar = (place: number) =>
      timeline.isForgottenBetween(Math.min(place, slot), Math.max(place, slot));
    return operation.id !== undefined && places.length > 0 && places.every(isFar);
  }
}
