import {
  type Check,
  createMemoryStores,
  hasMethods,
  invalid,
  StoreError,
  type StoreFactory,
  type StoreState,
} from "@scrollback/store-core";
import { isThreadStore, type ThreadStore, toStoreError } from "./thread-store.ts";

/**
 * Where threads get their stores: a factory, or a function that is given the saved state of a thread that is restored
 * (nothing for a new one) and alone applies it.
 */
export type StoreSource = StoreFactory | ((saved?: StoreState) => ThreadStore | Promise<ThreadStore>);

export const isStoreSource: Check = (value) =>
  typeof value === "function" || hasMethods("open", "restore")(value) === undefined
    ? undefined
    : "must be a store factory or a function that returns a store";

/** The store of a new thread. Without a source a memory store of the thread's own, which goes when the thread goes. */
export async function openStore(source: StoreSource | undefined): Promise<ThreadStore> {
  try {
    return await storeOf(source ?? createMemoryStores(), undefined);
  } catch (error) {
    throw toStoreError(error);
  }
}

/** The store of a thread of a source. @throws StoreError `INVALID_ARGUMENT` for a source that knows no ids. */
export function storeById(source: StoreSource | undefined, threadId: string): ThreadStore {
  return source && typeof source !== "function"
    ? source.open(threadId)
    : invalid("thread: an id is one of the agent's stores, which must be a store factory");
}

/**
 * The store of a thread that was saved, from a source or from a store that is given.
 *
 * @throws StoreError with the code of what the store failed with (`UNAVAILABLE` where it has none), which is the `cause`.
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
  // Whose state it is, only the function knows.
  const store = await source(saved as StoreState | undefined);
  const problem = isThreadStore(store);
  return problem ? invalid(`stores: what the function returns ${problem}`) : store;
}
