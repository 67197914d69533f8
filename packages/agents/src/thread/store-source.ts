import { createMemoryStores, StoreError, type StoreFactory, type StoreState } from "@scrollback/store-core";
import { type Check, hasMethods, invalid } from "@scrollback/store-core/driver";
import { isThreadStore, type ThreadStore, toStoreError } from "./thread-store.ts";

/**
 * Where threads get their stores: a factory, or a function. The function receives the saved state of a restored thread
 * (nothing for a new one) and must apply it itself.
 */
export type StoreSource = StoreFactory | ((saved?: StoreState) => ThreadStore | Promise<ThreadStore>);

export const isStoreSource: Check = (value) =>
  typeof value === "function" || hasMethods("open", "restore")(value) === undefined
    ? undefined
    : "must be a store factory or a function that returns a store";

/** Returns the store of a new thread. Without a source: a memory store that exists as long as the thread. */
export async function openStore(source: StoreSource | undefined): Promise<ThreadStore> {
  try {
    return await storeOf(source ?? createMemoryStores(), undefined);
  } catch (error) {
    throw toStoreError(error);
  }
}

/** Returns the store of a thread by its id. @throws StoreError `INVALID_ARGUMENT` for a source that cannot open ids. */
export function storeById(source: StoreSource | undefined, threadId: string): ThreadStore {
  return source && typeof source !== "function"
    ? source.open(threadId)
    : invalid("thread: an id needs a store factory; give the agent stores");
}

/**
 * Returns the store of a saved thread, from a source or from a given store.
 *
 * @throws StoreError with the code of the store's failure (`UNAVAILABLE` if it has none) and the failure as `cause`.
 */
export async function restoreStore(
  source: StoreSource | undefined,
  saved: unknown,
  given: ThreadStore | undefined,
): Promise<ThreadStore> {
  try {
    if (!given) return await storeOf(source ?? createMemoryStores(), saved);
    await given.updateFromState(saved);
    return given;
  } catch (cause) {
    const { code, message } = toStoreError(cause);
    throw new StoreError(code, `deserializeThread: storeState: ${message}`, { cause });
  }
}

async function storeOf(source: StoreSource, saved: unknown): Promise<ThreadStore> {
  if (typeof source !== "function") return saved === undefined ? source.open() : source.restore(saved);
  // Only the function knows what the state belongs to.
  const store = await source(saved as StoreState | undefined);
  const problem = isThreadStore(store);
  return problem ? invalid(`stores: result of the function ${problem}`) : store;
}
