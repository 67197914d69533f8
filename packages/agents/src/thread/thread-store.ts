import {
  type ChatMessage,
  type Check,
  hasMethods,
  type MessageStore,
  type Revision,
  StoreError,
} from "@scrollback/store-core";

/**
 * What a thread asks of a store: four methods, so that a store of your own needs no base class. Every
 * {@link MessageStore} is one. Messages come oldest first; a state is plain JSON.
 *
 * @example
 * const messageStore: ThreadStore = new MyStore();
 * const thread = agent.getNewThread({ messageStore });
 */
export interface ThreadStore {
  /** The thread's id, where the store has one. */
  readonly threadId?: string;
  /** Adds messages at the end, all of them or none. The same `operationId` again should add nothing. */
  addMessages(messages: readonly ChatMessage[], options?: { operationId?: string }): Promise<unknown>;
  listMessages(options?: { signal?: AbortSignal }): Promise<ChatMessage[]>;
  serialize(): Promise<unknown>;
  updateFromState(state: unknown): Promise<void>;
}

/** A thread's messages as they were read, and the revision that they are of; without one for a store that has none. */
export interface History {
  readonly messages: ChatMessage[];
  readonly revision: Revision | null | undefined;
}

export const isThreadStore: Check = hasMethods("addMessages", "listMessages", "serialize", "updateFromState");

/** Whether a store has the whole protocol, and with it revisions. */
export function hasRevisions(store: ThreadStore): store is ThreadStore & MessageStore {
  return "read" in store && typeof store.read === "function";
}

/** How often a history is listed in the hope that no other writer commits meanwhile. */
const MAX_ATTEMPTS = 3;

/**
 * All messages and the revision that they are of. They are listed, not read, as a store may do more when it lists
 * (shorten its history, for one); a list between two equal revisions is of that revision. Where other writers commit
 * during each of three lists, the revision is the one before the last list: a compare-and-set against it fails.
 *
 * @param known the revision that the thread is thought to be at, to spare a request.
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

/** What a failure of a store is to the caller: a StoreError as it is, any other error as `UNAVAILABLE` with its cause. */
export function toStoreError(error: unknown): StoreError {
  if (StoreError.is(error)) return error;
  return new StoreError("UNAVAILABLE", "messageStore: the store failed; see cause", { cause: error });
}
