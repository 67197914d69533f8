import type { ChatMessage } from "@scrollback/store-core";
import { invalid } from "@scrollback/store-core/driver";

/**
 * Shortens a history before the model sees it; see `@scrollback/reducers`. Never changes its input.
 *
 * @example
 * const newest: HistoryReducer = { reduce: async (messages) => messages.slice(-20) };
 */
export interface HistoryReducer {
  /**
   * The reducer's settings as plain JSON. In a group chat two reducers of one class with equal settings are
   * interchangeable. Without settings a reducer is interchangeable only with itself.
   */
  readonly settings?: unknown;
  reduce(messages: readonly ChatMessage[], options?: { signal?: AbortSignal }): Promise<ChatMessage[]>;
}

/** Calls a reducer. @param name its option. @throws StoreError `INVALID_ARGUMENT` if it returns no array. */
export async function reducedBy(
  name: string,
  reducer: HistoryReducer,
  history: readonly ChatMessage[],
  signal: AbortSignal | undefined,
): Promise<readonly ChatMessage[]> {
  const reduced = await reducer.reduce(history, signal ? { signal } : {});
  return Array.isArray(reduced)
    ? reduced
    : invalid(`${name}: result of reduce() must be an array of messages`);
}
