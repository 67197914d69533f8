import type { ChatMessage } from "@scrollback/store-core";
import { checkOptions } from "@scrollback/store-core/driver";
import { checkMessages, isSignal } from "@scrollback/store-core/internal";

/** Options of {@link ChatReducer.reduce}. */
export interface ReduceOptions {
  /** Aborting rejects with `ABORTED` promptly and also reaches the reducer's own requests. */
  signal?: AbortSignal;
}

/**
 * Shortens a history before a model sees it or a store keeps it.
 *
 * `reduce` takes messages oldest first and returns a new array, oldest first. It never changes the given array or its
 * messages; the kept messages are the same objects.
 *
 * @example
 * const newestTen: ChatReducer = { reduce: async (messages) => messages.slice(-10) };
 */
export interface ChatReducer<M = ChatMessage> {
  reduce(messages: readonly M[], options?: ReduceOptions): Promise<M[]>;
}

/** Checks the arguments of `reduce`. @throws StoreError `INVALID_ARGUMENT` that names `owner` and the problem. */
export function checkReduce(owner: string, messages: unknown, options: unknown): void {
  checkOptions(`${owner}.reduce`, options, { signal: isSignal });
  checkMessages(`${owner}.reduce`, messages);
}
