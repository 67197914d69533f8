import { StoreError } from "@scrollback/store-core";
import type { MessageStatus } from "../chat.ts";

const abortMessages = {
  stopped: "the run was asked to stop",
  "taken-over": "another run has taken the place of this one",
  deleted: "the chat was deleted",
  removed: "the answer was removed from the chat while it was made",
};

/** Why a run's signal was aborted. */
export type AbortCause = keyof typeof abortMessages;

/** The reason of an aborted signal. */
export function abortReason(cause: AbortCause): StoreError {
  return new StoreError("ABORTED", abortMessages[cause], { cause });
}

/** The result of a run. */
export interface RunResult<M> {
  /**
   * The answer. If it is absent, or has no field but `id`, `role`, `authorName` and `createdAt` that is not empty, the last value of
   * `update` is saved, if any.
   */
  readonly message?: M;
  readonly status: Exclude<MessageStatus, "partial">;
  /** The reason of the failure. Like `status` it is a part of the answer: without an answer it is not stored. */
  readonly error?: string;
}

/** Whether the store refuses an answer. It may accept another one. */
export function isRefusal(error: unknown): boolean {
  return StoreError.is(error, "INVALID_ARGUMENT") || StoreError.is(error, "TOO_LARGE");
}
