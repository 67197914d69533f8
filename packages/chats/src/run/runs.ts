import type { Identified } from "../chat.ts";
import type { ChatContext } from "../read/context.ts";
import type { AbortCause, ActiveRun } from "./active-run.ts";

/** The runs of this process. */
export class Runs<M extends Identified> {
  readonly #runs = new Map<string, ActiveRun<M>>();

  add(threadId: string, run: ActiveRun<M>): void {
    const key = keyOf(threadId, run.id);
    this.#runs.set(key, run);
    void run.ended.then(() => this.#runs.delete(key));
  }

  find(threadId: string, runId: string | undefined): ActiveRun<M> | undefined {
    return runId === undefined ? undefined : this.#runs.get(keyOf(threadId, runId));
  }

  /** Aborts a run if it belongs to this process, so that it ends before its next heartbeat. */
  abort(threadId: string, runId: string | undefined, cause: AbortCause): void {
    this.find(threadId, runId)?.abort(cause);
  }

  /** Returns when no run is active. */
  async flush(): Promise<void> {
    while (this.#runs.size > 0) await Promise.all([...this.#runs.values()].map(({ ended }) => ended));
  }
}

function keyOf(threadId: string, runId: string): string {
  return JSON.stringify([threadId, runId]);
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
