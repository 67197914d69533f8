import { REMEMBERED_OPERATIONS } from "@scrollback/store-core/driver";
import { parseRevision } from "@scrollback/store-core/internal";
import type { Observation, ObservedChange, Outcome } from "./observation.ts";

/** A requested change, with all calls that had its operation id. */
export interface Operation {
  readonly change: ObservedChange;
  /** The expected revision; undefined: any. */
  readonly expected: string | null | undefined;
  /** Of a pop: the returned text. */
  readonly takes?: string;
  /** The operation id; absent for a pop. */
  readonly id: string | undefined;
  /** The time of the first call, and the last time at which one of its calls may have taken effect. */
  readonly called: number;
  readonly until: number;
  /** The revisions that its calls returned, each with the first time. More than one if its id was forgotten in between. */
  readonly revisions: ReadonlyMap<string, number>;
  readonly what: string;
  /**
   * Whether its reply says that it was refused. It may still have taken effect, if its reply was lost and the store's
   * own retry came after the operation id was forgotten.
   */
  readonly isDenied?: boolean;
}

/** The changes in a thread's observations. */
export function operationsIn(observations: readonly Observation[]): Operation[] {
  const operations = new Map<string, Operation>();
  observations.forEach((observation, index) => {
    const { action, outcome, called, returned } = observation;
    const what = tell(observation);
    if (outcome.kind === "refused" || outcome.kind === "popped") {
      const denied = deniedOf(observation, what);
      if (denied) operations.set(`denied ${index}`, denied);
    }
    if (!mayHaveHappened(outcome)) return;
    const until = outcome.kind === "unknown" ? Number.POSITIVE_INFINITY : returned;
    if (action.kind === "pop") {
      const takes = outcome.kind === "popped" && outcome.text !== null ? { takes: outcome.text } : {};
      operations.set(`pop ${index}`, {
        change: { drop: 1, append: [] },
        expected: undefined,
        ...takes,
        id: undefined,
        called,
        until,
        revisions: new Map(),
        what,
      });
    } else if (action.kind === "commit") {
      const key = JSON.stringify([action.operationId, action.change]);
      const known = operations.get(key);
      const revisions = new Map(known?.revisions);
      if (outcome.kind === "committed" && outcome.revision !== null) {
        revisions.set(outcome.revision, Math.min(returned, revisions.get(outcome.revision) ?? returned));
      }
      operations.set(key, {
        change: action.change,
        expected: action.expected,
        id: action.operationId,
        called: Math.min(called, known?.called ?? called),
        until: Math.max(until, known?.until ?? 0),
        revisions,
        what: known?.what ?? what,
      });
    }
  });
  return [...operations.values()];
}

function deniedOf({ action, called, returned }: Observation, what: string): Operation | undefined {
  const denied = { called, until: returned, id: undefined, revisions: new Map(), what, isDenied: true };
  if (action.kind === "commit") return { ...denied, change: action.change, expected: action.expected };
  return action.kind === "pop"
    ? { ...denied, change: { drop: 1, append: [] }, expected: undefined }
    : undefined;
}

function mayHaveHappened(outcome: Outcome): boolean {
  return (
    outcome.kind === "committed" ||
    outcome.kind === "unknown" ||
    (outcome.kind === "popped" && outcome.text !== null)
  );
}

/** The violations of C4 and C5 that the revisions show: an id that took effect twice, a revision of two changes. */
export function checkRevisions(operations: readonly Operation[]): string[] {
  const problems: string[] = [];
  const owners = new Map<string, Operation>();
  const byId = new Map<string, string[]>();
  for (const operation of operations) {
    for (const revision of operation.revisions.keys()) {
      const owner = owners.get(revision);
      if (owner)
        problems.push(`C5: two commits got the revision ${revision}: ${owner.what}; ${operation.what}`);
      owners.set(revision, operation);
      if (operation.id !== undefined) byId.set(operation.id, [...(byId.get(operation.id) ?? []), revision]);
    }
  }
  for (const [id, revisions] of byId) {
    if (revisions.length < 2) continue;
    const places = revisions.map(parseRevision).sort((one, other) => one.number - other.number);
    const isTooSoon = places.some((place, index) => {
      const before = places[index - 1];
      return (
        before?.incarnation === place.incarnation && place.number - before.number <= REMEMBERED_OPERATIONS
      );
    });
    if (isTooSoon) problems.push(`C4: operation ${id} counted more than once: ${revisions.join(", ")}`);
  }
  return problems;
}

/** An observation as one readable line. */
export function tell({ client, action, outcome, called, returned }: Observation): string {
  const { kind, ...asked } = action;
  const { kind: how, ...got } = outcome;
  const shown = (value: object) => JSON.stringify(value).slice(0, 300);
  return `${client} ${kind} ${shown(asked)} ${how} ${shown(got)} from ${called} to ${returned}`;
}
