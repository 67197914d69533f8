import { StoreError } from "@scrollback/store-core";
import type { CommitOutcome, DeleteOutcome, ReadRequest, ThreadView } from "@scrollback/store-core/driver";
import { checkDeletion, checkError, checkOutcome, checkRead } from "./check-calls.ts";
import type { SimulatedClient } from "./client.ts";
import type { CostTable } from "./costs.ts";
import type { Counters } from "./faults.ts";
import { describeOperation, type Operation, requestOf } from "./operation.ts";
import type { Scheduler } from "./scheduler.ts";
import type { Deletion, SimulatedCall } from "./simulated-call.ts";
import type { SimulatedThread } from "./thread.ts";

/** The state that the callers of a run share. */
export interface CallerStage {
  readonly scheduler: Scheduler;
  readonly counters: Counters;
  readonly costs: CostTable;
  /** The time in milliseconds after which the next write is aborted; undefined if it is not. */
  abortsAfter(): number | undefined;
}

/** Thrown into a caller whose client has crashed. */
export class Died extends Error {}

/** Thrown into a caller that has aborted its call. */
class Aborted extends Error {}

/** Calls a client's driver until the client crashes, and checks the outcomes. */
export class Caller {
  readonly #stage: CallerStage;
  readonly #client: SimulatedClient;
  readonly #incarnation: number;

  constructor(stage: CallerStage, client: SimulatedClient) {
    this.#stage = stage;
    this.#client = client;
    this.#incarnation = client.incarnation;
  }

  async commit(
    thread: SimulatedThread,
    operation: Operation,
    caller: string,
  ): Promise<CommitOutcome | "unavailable" | "unknown"> {
    const { counters, costs } = this.#stage;
    const writer = { operationId: operation.id, deletion: undefined, caller };
    const call = this.#begin(thread, writer, () => describeOperation(operation));
    const before = costs.before(thread, this.#client);
    let outcome: CommitOutcome;
    try {
      const signal = this.#signalFor(call);
      const request = requestOf(operation, signal);
      operation.isSent = true;
      outcome = await this.#untilAborted(thread, call, signal, this.#client.driver.commit(request));
    } catch (error) {
      if (error instanceof Aborted) return "unavailable";
      const ended = this.#failed(thread, call, error);
      if (ended === "unknown") thread.rest?.checkUnknown(operation, call.since);
      return ended;
    }
    this.#end(call, "resolved", () => `${operation.id} ${outcome.outcome} ${outcome.revision}`);
    counters.count(outcome.outcome);
    costs.afterCommit(before, call, operation, outcome);
    if (!thread.model || !thread.rest) return outcome;
    checkOutcome(thread.model, call, operation, outcome);
    thread.rest.checkLateRows(call);
    const isDone = outcome.outcome === "committed" || outcome.outcome === "repeated";
    if (isDone && operation.drop === "all") thread.rest.checkCleared(operation);
    return outcome;
  }

  async delete(thread: SimulatedThread, deletion: Deletion): Promise<DeleteOutcome | "unavailable"> {
    const { id, threadId, expectedRevision } = deletion;
    const writer = { operationId: id, deletion, caller: `caller of ${id}` };
    const call = this.#begin(thread, writer, () => describeDeletion(deletion));
    deletion.began ??= { since: call.since, lowestWall: call.lowestWall };
    let outcome: DeleteOutcome;
    try {
      const signal = this.#signalFor(call);
      const request = { threadId, operationId: id, expectedRevision, signal };
      outcome = await this.#untilAborted(thread, call, signal, this.#client.driver.delete(request));
    } catch (error) {
      if (error instanceof Aborted) return "unavailable";
      this.#failed(thread, call, error);
      return "unavailable";
    }
    this.#end(call, "resolved", () => `${id} ${outcome.outcome}`);
    this.#stage.counters.count(`deletions ${outcome.outcome}`);
    if (!thread.model || !thread.rest) return outcome;
    checkDeletion(thread.model, call, deletion, outcome);
    thread.rest.checkLateRows(call);
    if (outcome.outcome !== "revision-conflict") thread.rest.checkDeleted(deletion);
    return outcome;
  }

  async read(
    thread: SimulatedThread,
    request: Omit<ReadRequest, "threadId" | "signal">,
  ): Promise<ThreadView | undefined> {
    const { counters, costs } = this.#stage;
    const reader = { operationId: undefined, deletion: undefined, caller: "reader" };
    const call = this.#begin(thread, reader, () => `read ${JSON.stringify(request)}`);
    const { threadId } = thread;
    let view: ThreadView;
    try {
      view = await this.#client.driver.read({ ...request, threadId, signal: undefined });
    } catch (error) {
      this.#failed(thread, call, error);
      return undefined;
    }
    this.#end(call, "resolved", () => `read ${view.revision}, ${view.entries.length} messages`);
    counters.count(view.revision === null ? "reads of nothing" : "reads");
    costs.afterRead(call, request, view);
    if (thread.model) checkRead(thread.model, call, { threadId, ...request }, view);
    return view;
  }

  /** The client may have crashed while a call was returning. */
  checkLife(): void {
    if (this.#client.incarnation !== this.#incarnation) throw new Died();
  }

  #begin(
    thread: SimulatedThread,
    by: Pick<SimulatedCall, "operationId" | "deletion" | "caller">,
    words: () => string,
  ) {
    const { scheduler } = this.#stage;
    this.checkLife();
    const since = thread.model?.step ?? 0;
    scheduler.step("call", this.#client.index, since, scheduler.trace && words());
    return this.#client.begin({ threadId: thread.threadId, ...by, since });
  }

  /** A signal that is aborted while the call is under way; undefined for most calls. */
  #signalFor(call: SimulatedCall): AbortSignal | undefined {
    const { scheduler } = this.#stage;
    const after = this.#stage.abortsAfter();
    if (after === undefined) return undefined;
    const controller = new AbortController();
    this.#client.schedule(scheduler.now + after, () => {
      if (call.ended) return;
      scheduler.step("abort", this.#client.index, call.since, call.operationId);
      call.isAborted = true;
      controller.abort();
    });
    return controller.signal;
  }

  /**
   * The result of a driver's call. As a store does, it waits no longer once the signal is aborted, while the driver's call goes on.
   *
   * @throws Aborted
   */
  #untilAborted<T>(
    thread: SimulatedThread,
    call: SimulatedCall,
    signal: AbortSignal | undefined,
    result: Promise<T>,
  ): Promise<T> {
    if (!signal) return result;
    return new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(new Aborted()));
      result.then(resolve, reject);
      result.then(
        () => call.isAborted && this.#client.end(call, "resolved"),
        (error) => call.isAborted && this.#failedUnheard(thread, call, error),
      );
    });
  }

  #failedUnheard(thread: SimulatedThread, call: SimulatedCall, error: unknown): void {
    try {
      this.#failed(thread, call, error);
    } catch (failure) {
      if (!(failure instanceof Died)) this.#stage.scheduler.fail(failure);
    }
  }

  #end(call: SimulatedCall, ended: "resolved" | "rejected", words: () => string): void {
    this.checkLife();
    const { scheduler } = this.#stage;
    scheduler.step("settled", this.#client.index, call.requests, scheduler.trace && words());
    this.#client.end(call, ended);
  }

  #failed(thread: SimulatedThread, call: SimulatedCall, error: unknown): "unavailable" | "unknown" {
    this.#end(call, "rejected", () => String(error));
    if (!thread.model && StoreError.is(error, "CORRUPT")) {
      this.#stage.counters.count("damage found");
      return "unknown";
    }
    return checkError(error, call);
  }
}

/** The text of a deletion in the trace. */
function describeDeletion({ id, expectedRevision }: Deletion): string {
  return `delete ${id}${expectedRevision === undefined ? "" : `, expected ${expectedRevision}`}`;
}
