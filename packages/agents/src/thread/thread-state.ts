import { StoreError } from "@scrollback/store-core";
import { isString } from "@scrollback/store-core/driver";

/**
 * A thread as plain JSON: where its history is, and the states of its context providers. It holds no secrets, and no
 * messages except those in the store's own state (the memory store's state holds them).
 */
export interface ThreadState {
  readonly type: "scrollback.thread";
  readonly version: 1;
  /** The provider's id of the history, if the provider keeps it. */
  readonly serviceThreadId?: string;
  /** The unchanged result of the store's `serialize()`. */
  readonly storeState?: unknown;
  /** The results of the context providers' `serialize()`, in order; providers without that method are skipped. */
  readonly contextStates?: readonly unknown[];
}

/**
 * Parses a state from an untrusted source.
 *
 * @throws StoreError `INVALID_STATE` that names the invalid field.
 */
export function parseThreadState(state: unknown): ThreadState {
  const refuse = (problem: string): never => {
    throw new StoreError("INVALID_STATE", `state: ${problem}`);
  };
  if (typeof state !== "object" || state === null || Array.isArray(state)) {
    return refuse("must be an object that a thread's serialize() returned");
  }
  const { type, version, serviceThreadId, storeState, contextStates } = state as Record<string, unknown>;
  if (type !== "scrollback.thread") refuse('type must be "scrollback.thread"');
  if (version !== 1) refuse("version must be 1; upgrade @scrollback/agents if a newer version wrote it");
  if (serviceThreadId !== undefined && isString(serviceThreadId)) {
    refuse(`serviceThreadId ${isString(serviceThreadId)}`);
  }
  if (serviceThreadId !== undefined && storeState !== undefined) {
    refuse("has both serviceThreadId and storeState; a thread's history is in one place");
  }
  if (storeState === null) refuse("storeState must be a result of a store's serialize()");
  if (contextStates !== undefined && !Array.isArray(contextStates)) refuse("contextStates must be an array");
  return state as ThreadState;
}
