// Exceeds 300 lines because all checks of a history use the same explanation: one order of its commits.
import { type CheckStates, type Explanation, fillTimeline } from "./fill.ts";
import type { Observation, ObservedThread, Outcome } from "./observation.ts";
import { checkRevisions, type Operation, operationsIn, tell } from "./operations.ts";
import { NOTHING, type ThreadState } from "./thread-model.ts";
import { Bounds, checkTimes, expiryOf, lastWhere, type PlacedEvent, Timeline } from "./timeline.ts";

type Page = Outcome & { readonly kind: "page" };
type Placed<T> = Pick<PlacedEvent, "slot" | "latest"> & {
  readonly observation: Observation;
  readonly outcome: T;
};

/** The error codes that a client of a run may get; each error is checked. */
const RIGHTFUL: readonly string[] = ["CONFLICT"];

/**
 * Decides whether one order of commits explains all observations of a thread. In that order every read is a revision, every
 * acknowledged commit occurs once, and nothing is visible too early or too late. Commits and reads have their revisions, so
 * only the positions of commits with an unknown outcome are searched for.
 *
 * @returns the observations that cannot be explained, each with the broken clause first; empty if there are none.
 */
export function explain(observations: readonly Observation[], thread: ObservedThread): string[] {
  const operations = operationsIn(observations);
  const pages = observations.flatMap((observation) =>
    observation.outcome.kind === "page" ? [{ observation, outcome: observation.outcome }] : [],
  );
  const atOnce = [...checkOutcomes(observations), ...checkRevisions(operations), ...checkPages(pages)];
  const timeline = timelineOf(operations, pages, thread);
  const commits = commitsOf(operations, timeline);
  const placed = placePages(pages, timeline, commits, thread);
  const events = [...commits, ...placed.map(eventOf)];
  atOnce.push(...checkTimes(events, timeline));
  if (atOnce.length > 0) return atOnce;

  const bySlot = Map.groupBy(placed, ({ slot }) => slot);
  const glances = glancesIn(observations, new Bounds(events), timeline.revisions.length - 1);
  const due = Map.groupBy(glances, ({ highest }) => highest);
  const checkStates: CheckStates = (slot, states) => {
    const state = states[slot] ?? NOTHING;
    for (const page of bySlot.get(slot) ?? []) {
      const problem = compare(page, state, thread);
      if (problem !== undefined) return problem;
    }
    const lost = due.get(slot)?.find((glance) => placeOf(glance, states, glance.lowest) === undefined);
    return lost && `C2: the read matches no state of the thread: ${tell(lost.observation)}`;
  };
  const explanation = fillTimeline(timeline, operations, events, thread, checkStates);
  if (typeof explanation === "string") return [explanation];
  return [
    ...checkGlances(glances, explanation),
    ...checkSequences(placed, explanation),
    ...checkConflicts(observations, timeline, operations, events, unseenIn(operations, explanation, thread)),
    ...checkExpiry(explanation, timeline, placed, commits, thread),
  ];
}

function eventOf({ slot, latest, observation }: Omit<Placed<Page>, "outcome">): PlacedEvent {
  const { called, returned } = observation;
  return { slot, latest, isCommit: false, called, returned, what: tell(observation) };
}

function timelineOf(
  operations: readonly Operation[],
  pages: readonly { readonly observation: Observation; readonly outcome: Page }[],
  thread: ObservedThread,
): Timeline {
  const commits = operations.flatMap(({ revisions, called }) =>
    [...revisions].map(([revision, returned]) => ({ revision, isCommit: true, called, returned })),
  );
  const reads = pages.flatMap(({ observation: { called, returned }, outcome: { revision } }) =>
    revision === null ? [] : [{ revision, isCommit: false, called, returned }],
  );
  return new Timeline([...commits, ...reads], thread);
}

function commitsOf(operations: readonly Operation[], timeline: Timeline): PlacedEvent[] {
  return operations.flatMap(({ revisions, called, what }) =>
    [...revisions].map(([revision, returned]) => {
      const slot = timeline.slotOf(revision);
      return { slot, latest: slot, isCommit: true, called, returned, what };
    }),
  );
}

/**
 * A page of a thread that does not exist is placed at the earliest slot without a thread. If threads expire, it may also be
 * at a later slot without a thread.
 */
function placePages(
  pages: readonly { readonly observation: Observation; readonly outcome: Page }[],
  timeline: Timeline,
  commits: readonly PlacedEvent[],
  thread: ObservedThread,
): Placed<Page>[] {
  const there = pages.flatMap(({ observation, outcome }) => {
    if (outcome.revision === null) return [];
    const slot = timeline.slotOf(outcome.revision);
    return [{ slot, latest: slot, observation, outcome }];
  });
  const bounds = new Bounds([...commits, ...there.map(eventOf)]);
  const bySlot = new Map(commits.map((commit) => [commit.slot, commit]));
  const gone = pages.flatMap(({ observation, outcome }) => {
    if (outcome.revision !== null) return [];
    const lowest = bounds.reachedBefore(observation.called);
    const highest = bounds.reachableBy(observation.returned);
    if (cameInBetween(observation, [lowest, highest], timeline, bySlot, thread)) return [];
    const slot = timeline.gapFrom(lowest);
    const latest = thread.ttlMs === undefined ? slot : timeline.gapUpTo(highest);
    return [{ slot, latest, observation, outcome }];
  });
  return [...there, ...gone];
}

/**
 * Whether a read may have found a thread expired while a commit that continued it was under way: some backends decide by
 * the writer's clock whether the thread exists, before the commit is visible.
 */
function cameInBetween(
  { returned }: Observation,
  [lowest, highest]: readonly [number, number],
  timeline: Timeline,
  commits: ReadonlyMap<number, PlacedEvent>,
  thread: ObservedThread,
): boolean {
  if (thread.ttlMs === undefined) return false;
  for (let slot = lowest; slot <= Math.min(highest, timeline.revisions.length - 2); slot++) {
    if (timeline.isGap(slot) || timeline.isGap(slot + 1)) continue;
    const [last, next] = [commits.get(slot), commits.get(slot + 1)];
    const hadExpired = !last || expiryOf(last, thread).earliest <= returned;
    if (hadExpired && (!next || next.called <= returned)) return true;
  }
  return false;
}

function checkOutcomes(observations: readonly Observation[]): string[] {
  return observations.flatMap((observation) => {
    const { outcome } = observation;
    return outcome.kind === "refused" && !RIGHTFUL.includes(outcome.code)
      ? [`C13: a valid call was refused: ${tell(observation)}`]
      : [];
  });
}

function checkPages(
  pages: readonly { readonly observation: Observation; readonly outcome: Page }[],
): string[] {
  return pages.flatMap(({ observation, outcome }) => {
    const problems: string[] = [];
    const { entries } = outcome;
    if (new Set(entries.map(([, text]) => text)).size < entries.length)
      problems.push("C4: a message is duplicated");
    if (entries.some(([sequence], index) => sequence <= (entries[index - 1]?.[0] ?? 0))) {
      problems.push("C1: sequence numbers do not rise");
    }
    return problems.map((problem) => `${problem}: ${tell(observation)}`);
  });
}

function compare(
  { observation, outcome }: Placed<Page>,
  state: ThreadState,
  { maxMessages = Number.POSITIVE_INFINITY }: ObservedThread,
): string | undefined {
  const { limit = Number.POSITIVE_INFINITY } = observation.action as { limit?: number };
  const texts = outcome.entries.map(([, text]) => text);
  const expected = newest(state.texts, limit);
  const problem = (clause: string, what: string) => `${clause}: ${what}: ${tell(observation)}`;
  if (texts.length > maxMessages) return problem("C6", `more than ${maxMessages} messages are there`);
  if (!isSame(texts, expected)) {
    return problem("C2", `a read matches no revision of the order, which has [${expected.join(", ")}] there`);
  }
  if (outcome.metadata !== state.metadata) {
    return problem("C18", `the metadata of that revision is ${state.metadata}`);
  }
  // An empty thread has no cursors.
  if (outcome.older !== state.texts.length > expected.length && state.texts.length > 0) {
    return problem("C7", outcome.older ? "it has an older cursor" : "it lacks an older cursor");
  }
  return undefined;
}

const newest = (texts: readonly string[], limit: number) => texts.slice(Math.max(0, texts.length - limit));

const isSame = (one: readonly string[], other: readonly string[]) =>
  one.length === other.length && one.every((text, index) => text === other[index]);

/** A list, or a pop that returned nothing: it has no revision, but must be one of the revisions during the call. */
interface Glance {
  readonly observation: Observation;
  readonly texts: readonly string[];
  readonly limit: number;
  readonly lowest: number;
  readonly highest: number;
}

function glancesIn(observations: readonly Observation[], bounds: Bounds, last: number): Glance[] {
  return observations.flatMap((observation) => {
    const { action, outcome, called, returned } = observation;
    const isEmptyPop = outcome.kind === "popped" && outcome.text === null;
    if (outcome.kind !== "texts" && !isEmptyPop) return [];
    const { limit = Number.POSITIVE_INFINITY } = action as { limit?: number };
    const texts = outcome.kind === "texts" ? outcome.texts : [];
    const highest = Math.min(bounds.reachableBy(returned), last);
    return [{ observation, texts, limit, lowest: bounds.reachedBefore(called), highest }];
  });
}

function placeOf(
  { texts, limit, highest }: Glance,
  states: readonly ThreadState[],
  from: number,
): number | undefined {
  for (let slot = from; slot <= highest; slot++) {
    if (isSame(newest(states[slot]?.texts ?? [], limit), texts)) return slot;
  }
  return undefined;
}

/** Each has a position, because of the search. It must also not be before the position of an earlier one. */
function checkGlances(glances: readonly Glance[], { states }: Explanation): string[] {
  const problems: string[] = [];
  const placed: { readonly returned: number; readonly highest: number }[] = [];
  for (const glance of glances.toSorted(
    (one, other) => one.observation.returned - other.observation.returned,
  )) {
    const { called, returned } = glance.observation;
    const before = lastWhere(placed, (other) => other.returned < called)?.highest ?? 0;
    const slot = placeOf(glance, states, Math.max(before, glance.lowest));
    if (slot === undefined) {
      problems.push(`C3: an earlier read had seen something newer: ${tell(glance.observation)}`);
    } else placed.push({ returned, highest: Math.max(slot, placed.at(-1)?.highest ?? 0) });
  }
  return problems;
}

/** A message keeps its sequence number while it exists. */
function checkSequences(pages: readonly Placed<Page>[], { made }: Explanation): string[] {
  const problems: string[] = [];
  const sequences = new Map<string, number>();
  const bySlot = Map.groupBy(pages, ({ slot }) => slot);
  for (const [slot, operation] of made.entries()) {
    for (const text of operation?.change.append ?? []) sequences.delete(text);
    for (const { outcome, observation } of bySlot.get(slot) ?? []) {
      for (const [sequence, text] of outcome.entries) {
        const known = sequences.get(text) ?? sequence;
        if (known !== sequence)
          problems.push(`C7: ${text} had sequence number ${known}: ${tell(observation)}`);
        sequences.set(text, sequence);
      }
    }
  }
  return problems;
}

/**
 * The commits with an unknown outcome that made no observed revision. If threads expire, they may still have made one.
 */
function unseenIn(
  operations: readonly Operation[],
  { made }: Explanation,
  { ttlMs }: ObservedThread,
): readonly Operation[] {
  if (ttlMs === undefined) return [];
  const seen = new Set(made);
  return operations.filter((one) => one.revisions.size === 0 && !one.isDenied && !seen.has(one));
}

/** A CONFLICT is right if the thread was at another revision during the call, or the operation id belongs to another change. */
function checkConflicts(
  observations: readonly Observation[],
  timeline: Timeline,
  operations: readonly Operation[],
  events: readonly PlacedEvent[],
  unseen: readonly Operation[],
): string[] {
  const bounds = new Bounds(events);
  return observations.flatMap((observation) => {
    const { action, outcome, called, returned } = observation;
    if (outcome.kind !== "refused" || outcome.code !== "CONFLICT" || action.kind !== "commit") return [];
    const change = JSON.stringify(action.change);
    const isTaken = operations.some(
      (other) => other.id === action.operationId && JSON.stringify(other.change) !== change,
    );
    if (isTaken) return [];
    const lowest = bounds.reachedBefore(called);
    const isMoving = lowest < bounds.reachableBy(returned);
    if (action.expected !== undefined) {
      if (isMoving || timeline.revisions[lowest] !== action.expected) return [];
      if (unseen.some((one) => one.called < returned)) return [];
    }
    return [`C5: a commit failed with an unjustified CONFLICT: ${tell(observation)}`];
  });
}

function checkExpiry(
  { made }: Explanation,
  timeline: Timeline,
  pages: readonly Placed<Page>[],
  commits: readonly PlacedEvent[],
  thread: ObservedThread,
): string[] {
  const problems: string[] = [];
  const check = (slot: number, called: number, returned: number, isGone: boolean, what: string) => {
    const last = isGone ? slot - 1 : slot;
    const operation = made[last];
    if (!operation) return;
    const answered = operation.revisions.get(timeline.revisions[last] ?? "") ?? Number.POSITIVE_INFINITY;
    const { earliest, latest } = expiryOf({ called: operation.called, returned: answered }, thread);
    if (isGone && returned < earliest) {
      const clause = thread.ttlMs === undefined ? "C3" : "C11";
      problems.push(`${clause}: the thread was missing, or disappeared too early: ${what}`);
    }
    if (!isGone && called > latest) problems.push(`C11: the thread existed too long: ${what}`);
  };
  for (const { slot, observation } of pages) {
    const { called, returned } = observation;
    check(slot, called, returned, timeline.isGap(slot), tell(observation));
  }
  for (const { slot, called, returned, what } of commits) {
    check(slot - 1, called, returned, timeline.isGap(slot - 1), what);
  }
  return problems;
}
