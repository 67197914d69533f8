import { type ChatMessage, type MessageStore, type Revision, StoreError } from "@scrollback/store-core";
import { type Check, hasMethods } from "@scrollback/store-core/driver";

/**
 * The four methods of a store that a thread uses, so your own store needs no base class. Every {@link MessageStore} has them.
 * Messages are oldest first; a state is plain JSON.
 *
 * @example
 * const messageStore: ThreadStore = new MyStore();
 * const thread = agent.getNewThread({ messageStore });
 */
export interface ThreadStore {
  /** The thread's id, if the store has one. */
  readonly threadId?: string;
  /** Adds messages at the end, all or none. A repeated `operationId` should add nothing. */
  addMessages(messages: readonly ChatMessage[], options?: { operationId?: string }): Promise<unknown>;
  listMessages(options?: { signal?: AbortSignal }): Promise<ChatMessage[]>;
  serialize(): Promise<unknown>;
  updateFromState(state: unknown): Promise<void>;
}

/** The messages of a thread and their revision; no revision for a store without revisions. */
export interface History {
  readonly messages: ChatMessage[];
  readonly revision: Revision | null | undefined;
}

export const isThreadStore: Check = hasMethods("addMessages", "listMessages", "serialize", "updateFromState");

/** Whether a store implements the whole protocol, including revisions. */
export function hasRevisions(store: ThreadStore): store is ThreadStore & MessageStore {
  return "read" in store && typeof store.read === "function";
}

/** The maximum number of lists while other writers commit. */
const MAX_ATTEMPTS = 3;

/**
 * Reads all messages and their revision. Uses `listMessages`, not `read`, because a store may do more when it lists (for
 * example shorten its history). A list between two equal revisions has that revision. If other writers commit during each
 * of three lists, the result has the revision before the last list, so a compare-and-set against it fails.
 *
 * @param known the revision that the thread probably has, to save a request.
 */
export async function readHistory(
  store: ThreadStore,
  known: Revision | null | undefined,
  signal: AbortSignal | undefined,
): Promise<History> {
  const options = signal ? { signal } : {};
  if (!hasRevisions(store)) return { messages: await store.listMessages(options), revision: undefined };
  const current = async () => (await store.read({ limit: 0, ...options })).revision;
  let before = known === undefined ? await current() : known;
  for (let attempt = 1; ; attempt++) {
    const messages = await store.listMessages(options);
    const revision = await current();
    if (revision === before || attempt === MAX_ATTEMPTS) return { messages, revision: before };
    before = revision;
  }
}

/** Converts a store's failure: a StoreError unchanged, any other error to `UNAVAILABLE` with its cause. */
export function toStoreError(error: unknown): StoreError {
  if (StoreError.is(error)) return error;
  return new StoreError("UNAVAILABLE", "messageStore: the store failed; see cause", { cause: error });
}
