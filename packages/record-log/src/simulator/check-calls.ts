import { type Revision, StoreError } from "@scrollback/store-core";
import {
  type CommitOutcome,
  type DeleteOutcome,
  NO_THREAD,
  type ReadRequest,
  SequenceBounds,
  type ThreadView,
} from "@scrollback/store-core/driver";
import { SimulationFailure } from "./failure.ts";
import { ConnectionLost } from "./network.ts";
import type { Operation } from "./operation.ts";
import { newestCompactionIn, type ThreadState } from "./reference.ts";
import type { Deletion, SimulatedCall } from "./simulated-call.ts";
import type { HistoryEntry, ThreadModel } from "./thread-model.ts";

/** Checks the result of a read: it must be the thread's state at one moment of the call. */
export function checkRead(
  model: ThreadModel,
  call: SimulatedCall,
  request: Omit<ReadRequest, "signal">,
  view: ThreadView,
): void {
  const moment = momentOf(model, call, view.revision);
  if (!moment) {
    const seen = momentsOf(model, call).map(({ state }) => state?.revision ?? null);
    throw new SimulationFailure(
      "fresh reads",
      `a read returned ${view.revision}, the thread was at ${seen.slice(0, 8).join(", ")}`,
    );
  }
  const expected = viewOf(view.revision === null ? undefined : moment.state, request);
  const problem = differenceOf(view, expected);
  if (problem) throw new SimulationFailure("content", `a read of ${view.revision} returned ${problem}`);
}

/** Checks the outcome of a commit. */
export function checkOutcome(
  model: ThreadModel,
  call: SimulatedCall,
  operation: Operation,
  { outcome, revision }: CommitOutcome,
): void {
  const { id, commits, expectedRevision } = operation;
  if (outcome === "committed" || outcome === "repeated") {
    const commit = commits.find((one) => one.revision === revision);
    if (!commit)
      throw new SimulationFailure(
        "acknowledged",
        `${id} was ${outcome} as ${revision}, but is not in the thread`,
      );
    if (outcome === "committed" && commit.step <= call.since)
      throw new SimulationFailure("exactly once", `${id} was committed as ${revision} before it was called`);
    return;
  }
  if (outcome === "operation-conflict") {
    // The id was used before later commits, so the revision may be an older one. The ids of a deleted thread are still
    // remembered.
    const isCurrent = revision === null ? momentOf(model, call, null) : model.wasAt(revision);
    if (!isCurrent || !model.wasReused(operation))
      throw new SimulationFailure(
        "exactly once",
        `${id} was refused at ${revision}, but was not used before`,
      );
    return;
  }
  if (!momentOf(model, call, revision))
    throw new SimulationFailure(
      "fresh reads",
      `${id} ended with ${outcome} at ${revision}, which was not current`,
    );
  if (expectedRevision === undefined || expectedRevision === revision)
    throw new SimulationFailure(
      "compare and set",
      `${id} expected ${expectedRevision} and was refused at it`,
    );
}

/** Checks the outcome of a deletion. */
export function checkDeletion(
  model: ThreadModel,
  call: SimulatedCall,
  { id, expectedRevision, made, began }: Deletion,
  outcome: DeleteOutcome,
): void {
  if (outcome.outcome === "revision-conflict") {
    if (!momentOf(model, call, outcome.revision))
      throw new SimulationFailure("fresh reads", `${id} ended at ${outcome.revision}, which was not current`);
    if (expectedRevision === undefined || expectedRevision === outcome.revision)
      throw new SimulationFailure(
        "compare and set",
        `${id} expected ${expectedRevision} and was refused at it`,
      );
    return;
  }
  if (made) return;
  // At some moment since the first call there was nothing to delete.
  if (!momentOf(model, { ...call, ...began }, null))
    throw new SimulationFailure(
      "deletion",
      `${id} was ${outcome.outcome}, but the thread existed all the time`,
    );
  if (expectedRevision !== undefined && expectedRevision !== null)
    throw new SimulationFailure(
      "compare and set",
      `${id} expected ${expectedRevision}, and there was no thread`,
    );
}

/** Checks that an error is an outage, the only error that a call may fail with. Returns whether the commit's outcome is unknown. */
export function checkError(error: unknown, { isAborted }: SimulatedCall): "unavailable" | "unknown" {
  if (isAborted && (StoreError.is(error, "ABORTED") || error instanceof DOMException)) return "unavailable";
  if (error instanceof ConnectionLost) return "unavailable";
  if (StoreError.is(error, "UNAVAILABLE"))
    return !error.retryable && error.message.includes("outcome is unknown") ? "unknown" : "unavailable";
  if (error instanceof SimulationFailure) throw error;
  const failure = new SimulationFailure("errors", `a call failed with ${error}`);
  failure.cause = error;
  throw failure;
}

/** The moment of a call at which the thread was at a revision, by the clock of the caller. */
function momentOf(
  model: ThreadModel,
  call: SimulatedCall,
  revision: Revision | null,
): HistoryEntry | undefined {
  const { lowestWall, highestWall } = call;
  const { history } = model;
  for (let index = history.length - 1; index >= 0; index--) {
    const entry = history[index] as HistoryEntry;
    const { state, expiresAt } = entry;
    const isIt =
      revision === null
        ? !state || (expiresAt !== undefined && highestWall >= expiresAt)
        : state?.revision === revision && !(expiresAt !== undefined && lowestWall >= expiresAt);
    if (isIt) return entry;
    if (entry.step <= call.since) return undefined;
  }
  return undefined;
}

function momentsOf({ history }: ThreadModel, { since }: SimulatedCall): HistoryEntry[] {
  const first = history.findLastIndex(({ step }) => step <= since);
  return history.slice(Math.max(0, first));
}

function viewOf(
  state: ThreadState | undefined,
  { limit, before, after, metadata }: Omit<ReadRequest, "signal">,
): Omit<ThreadView, "createdAt" | "updatedAt" | "expiresAt"> {
  if (!state) return NO_THREAD;
  const { bounds } = state;
  const range = SequenceBounds.selectRange(bounds, { limit, before, after });
  const entries: { sequence: number; record: string }[] = [];
  SequenceBounds.pinnedOf(bounds).forEach((sequence, index) => {
    const record = state.pinned[index]?.text.record ?? "";
    if (SequenceBounds.isWithin(range, sequence)) entries.push({ sequence, record });
  });
  for (let sequence = range.first; sequence < range.next; sequence++) {
    const record = state.messages[sequence - bounds.first]?.text.record ?? "";
    entries.push({ sequence, record });
  }
  return {
    revision: state.revision,
    count: SequenceBounds.countOf(bounds),
    first: SequenceBounds.firstOf(bounds),
    last: SequenceBounds.lastOf(bounds),
    newestCompaction: newestCompactionIn(state),
    entries,
    ...(metadata && state.metadata && { metadata: state.metadata.text.record }),
  };
}

/** The difference of two views; undefined if they are equal. */
function differenceOf(view: ThreadView, expected: ReturnType<typeof viewOf>): string | undefined {
  if (view.entries.length !== expected.entries.length)
    return `${view.entries.length} messages, not ${expected.entries.length}`;
  for (const [index, { sequence, record }] of expected.entries.entries()) {
    const entry = view.entries[index];
    if (entry?.sequence !== sequence || entry.record !== record)
      return `message ${entry?.sequence} ${brief(entry?.record)}, not ${sequence} ${brief(record)}`;
  }
  if (view.metadata !== expected.metadata)
    return `the metadata ${brief(view.metadata)}, not ${brief(expected.metadata)}`;
  if ((view.newestCompaction ?? 0) !== (expected.newestCompaction ?? 0))
    return `the newest compaction item ${view.newestCompaction}, not ${expected.newestCompaction}`;
  if (view.count !== expected.count) return `a count of ${view.count}, not ${expected.count}`;
  if (expected.count > 0 && (view.first !== expected.first || view.last !== expected.last))
    return `bounds ${view.first} to ${view.last}, not ${expected.first} to ${expected.last}`;
  return undefined;
}

function brief(text: string | undefined): string {
  return text === undefined ? "absent" : JSON.stringify(text.slice(0, 40));
}
