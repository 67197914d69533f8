import type { Identified } from "../chat.ts";
import type { ChatContext } from "../read/context.ts";
import type { ActiveRun } from "./active-run.ts";
import type { AbortCause } from "./run-endings.ts";

/** The runs of this process. */
export class Runs<M extends Identified> {
  /** By thread. A run that another process has replaced is here until it notices that. */
  readonly #runs = new Map<string, Set<ActiveRun<M>>>();

  /** The calls of `begin` with an operation id that have not returned. */
  readonly #beginning = new Map<string, Promise<unknown>>();

  /** Runs the calls of `begin` with one operation id one after the other: a repetition finds the run that the first one adds. */
  async inTurn<T>(threadId: string, operationId: string | undefined, begin: () => Promise<T>): Promise<T> {
    if (operationId === undefined) return await begin();
    const key = JSON.stringify([threadId, operationId]);
    const begun = (this.#beginning.get(key) ?? Promise.resolve()).then(begin);
    const settled = begun.catch(() => undefined);
    this.#beginning.set(key, settled);
    try {
      return await begun;
    } finally {
      if (this.#beginning.get(key) === settled) this.#beginning.delete(key);
    }
  }

  add(threadId: string, run: ActiveRun<M>): void {
    const runs = this.#runs.get(threadId) ?? new Set();
    this.#runs.set(threadId, runs.add(run));
    void run.ended.then(() => {
      runs.delete(run);
      if (runs.size === 0 && this.#runs.get(threadId) === runs) this.#runs.delete(threadId);
    });
  }

  find(threadId: string, runId: string | undefined): ActiveRun<M> | undefined {
    return this.#of(threadId).find(({ id }) => id === runId);
  }

  /** Aborts a run if it belongs to this process, so that it ends before its next heartbeat. Returns whether that ends it. */
  abort(threadId: string, runId: string | undefined, cause: AbortCause): boolean {
    return this.find(threadId, runId)?.abort(cause) ?? false;
  }

  /** Aborts all runs of a chat that belong to this process. Returns whether that ends one. */
  abortAll(threadId: string, cause: AbortCause): boolean {
    return this.#of(threadId)
      .map((run) => run.abort(cause))
      .includes(true);
  }

  /** Returns when no run is active. */
  async flush(): Promise<void> {
    while (this.#runs.size > 0)
      await Promise.all([...this.#runs.keys()].flatMap((id) => this.#of(id)).map(({ ended }) => ended));
  }

  #of(threadId: string): ActiveRun<M>[] {
    return [...(this.#runs.get(threadId) ?? [])];
  }
}

/** The shared context of all chats, with the runs of this process. */
export interface RunContext<M extends Identified> extends ChatContext<M> {
  readonly runs: Runs<M>;
}

/** A run of this process, as its caller sees it. */
export type ChatRun<M extends Identified> = Pick<
  ActiveRun<M>,
  "id" | "messageId" | "chat" | "entries" | "signal" | "update" | "save" | "end"
>;
