import type { RestChecks } from "./check-rest.ts";
import type { StoredRows } from "./stored-rows.ts";
import type { ThreadModel } from "./thread-model.ts";
import type { Ground } from "./workload.ts";

/** A thread of a simulated run. */
export class SimulatedThread {
  readonly threadId: string;
  readonly rows: StoredRows;
  /** The model of the thread; absent if its rows are damaged. */
  readonly model: ThreadModel | undefined;
  readonly rest: RestChecks | undefined;

  constructor(
    threadId: string,
    rows: StoredRows,
    checks?: { readonly model: ThreadModel; readonly rest: RestChecks },
  ) {
    this.threadId = threadId;
    this.rows = rows;
    this.model = checks?.model;
    this.rest = checks?.rest;
  }

  get ground(): Ground {
    const state = this.model?.state;
    return { threadId: this.threadId, revision: state?.revision ?? null, next: state?.bounds.next ?? 1 };
  }
}
