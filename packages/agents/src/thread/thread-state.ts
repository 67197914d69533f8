import { isString, StoreError } from "@scrollback/store-core";

/**
 * A thread as plain JSON: where its history is, and what its context providers keep. No secrets; no messages but those
 * that the store's own state holds (the memory store's does).
 */
export interface ThreadState {
  readonly type: "scrollback.thread";
  readonly version: 1;
  /** The provider's id of the history, where the provider keeps it. */
  readonly serviceThreadId?: string;
  /** What the store's `serialize()` gave, as it was. */
  readonly storeState?: unknown;
  /** What the context providers' `serialize()` gave, in their order; providers without one have no place in it. */
  readonly contextStates?: readonly unknown[];
}

/**
 * Reads a state that came from anywhere.
 *
 * @throws StoreError `INVALID_STATE` that names the field at fault.
 */
export function parseThreadState(state: unknown): ThreadState {
  const refuse = (problem: string): never => {
    throw new StoreError("INVALID_STATE", `state: ${problem}`);
  };
  if (typeof state !== "object" || state === null || Array.isArray(state)) {
    return refuse("must be an object that a thread's serialize() gave");
  }
  const { type, version, serviceThreadId, storeState, contextStates } = state as Record<string, unknown>;
  if (type !== "scrollback.thread") refuse('type must be "scrollback.thread"');
  if (version !== 1) refuse("version must be 1; was it written by a newer version of Scrollback?");
  if (serviceThreadId !== undefined && isString(serviceThreadId)) {
    refuse(`serviceThreadId ${isString(serviceThreadId)}`);
  }
  if (serviceThreadId !== undefined && storeState !== undefined) {
    refuse("has both serviceThreadId and storeState; a thread's history is in one place");
  }
  if (storeState === null) refuse("storeState must be what a store's serialize() gave");
  if (contextStates !== undefined && !Array.isArray(contextStates)) refuse("contextStates must be a list");
  return state as ThreadState;
}
