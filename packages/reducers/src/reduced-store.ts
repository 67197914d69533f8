import {
  type Change,
  type ChatMessage,
  chatMessageTraits,
  type MessageStore,
  type ReadOptions,
  type Revision,
  retryOnConflict,
  type StoreState,
  type ThreadPage,
  type WriteOptions,
} from "@scrollback/store-core";
import { checkOptions, hasMethods, invalid, isOneOf } from "@scrollback/store-core/driver";
import {
  checkValue,
  emitWarning,
  isCount,
  isFunction,
  isSame,
  isSignal,
  pairedHistory,
  reportUnpaired,
  untilAborted,
} from "@scrollback/store-core/internal";
import type { ChatReducer } from "./reducer.ts";

/** Options of {@link withReducer}. */
export interface ReducedStoreOptions {
  /** `"beforeList"`: `listMessages` reduces first. `"afterAdd"`: every appending write reduces afterwards. */
  when: "beforeList" | "afterAdd";
  /**
   * Receives the error when reducing fails after a write, which stays. If this function throws, the write's call rejects
   * with its error. Also receives, once a thread, what `listMessages` leaves out. Default: a process warning.
   */
  onError?: (error: unknown) => void;
}

const storeMethods = [
  "addMessages",
  "listMessages",
  "serialize",
  "updateFromState",
  "clear",
  "popMessage",
  "replaceMessages",
  "commit",
  "expire",
  "read",
] as const;
const listChecks = { limit: isCount, signal: isSignal };

/**
 * Keeps the thread of a store reduced, on any backend. The reduced history replaces the stored one by a compare-and-set
 * commit. When another writer was first, it retries with the newer history, so a reduction loses no message; after 100
 * attempts it fails with `CONFLICT`. When the reducer returns the same messages, nothing is written.
 *
 * - `when: "beforeList"`: `listMessages` reduces, writes the result and returns the reduced history, or its newest `limit`
 *   messages. When the reducer fails, it rejects with the reducer's error and the stored history is unchanged.
 * - `when: "afterAdd"`: `addMessages`, and `replaceMessages` and `commit` that append, write and then reduce. They return
 *   the revision of the last commit. When reducing fails or is aborted, the write stays and its revision is returned,
 *   because callers retry a rejected write; the error goes to `onError`.
 *
 * `listMessages` leaves out a tool call without its result and a result without its call, which models refuse.
 *
 * All other methods, including `read` and disposal, go to `store` unchanged.
 *
 * @throws StoreError `INVALID_ARGUMENT` for an invalid store or reducer, or a wrong or unknown option.
 * @example
 * const reducer = new SummarizingReducer({ model, targetCount: 20, threshold: 10 });
 * const store = withReducer(stores.open("chat-1"), reducer, { when: "afterAdd" });
 * await store.addMessages([{ role: "user", content: "Hello" }]);
 */
export function withReducer<M = ChatMessage>(
  store: MessageStore<M>,
  reducer: ChatReducer<M>,
  options: ReducedStoreOptions,
): MessageStore<M> {
  checkValue("withReducer", "store", hasMethods(...storeMethods), store);
  checkValue("withReducer", "reducer", hasMethods("reduce"), reducer);
  const checks = { when: isOneOf("beforeList", "afterAdd"), onError: isFunction };
  checkOptions("withReducer", options, checks, ["when"]);
  return new ReducedStore(store, reducer, options);
}

class ReducedStore<M> implements MessageStore<M> {
  readonly #store: MessageStore<M>;
  readonly #reducer: ChatReducer<M>;
  readonly #when: ReducedStoreOptions["when"];
  readonly #onError: (error: unknown) => void;
  readonly #onUnpaired: ReducedStoreOptions["onError"];

  constructor(store: MessageStore<M>, reducer: ChatReducer<M>, options: ReducedStoreOptions) {
    this.#store = store;
    this.#reducer = reducer;
    this.#when = options.when;
    this.#onError = options.onError ?? warn;
    this.#onUnpaired = options.onError;
  }

  get threadId(): string {
    return this.#store.threadId;
  }

  async addMessages(messages: readonly M[], options?: WriteOptions): Promise<Revision | null> {
    const added = await this.#store.addMessages(messages, options);
    return await this.#afterAdd(added, messages, options);
  }

  async replaceMessages(messages: readonly M[], options?: WriteOptions): Promise<Revision | null> {
    const added = await this.#store.replaceMessages(messages, options);
    return await this.#afterAdd(added, messages, options);
  }

  async commit(change: Change<M>, options?: WriteOptions): Promise<Revision | null> {
    const added = await this.#store.commit(change, options);
    return await this.#afterAdd(added, change.append ?? [], options);
  }

  async listMessages(options: { limit?: number; signal?: AbortSignal } = {}): Promise<M[]> {
    if (this.#when !== "beforeList") return this.#paired(await this.#store.listMessages(options));
    checkOptions("listMessages", options, listChecks);
    const { limit = Number.POSITIVE_INFINITY, signal } = options;
    const { messages } = await this.#reduce(signal);
    return this.#paired(messages.slice(Math.max(0, messages.length - limit)));
  }

  /** The history for a model. Messages of other types are unchanged. */
  #paired(messages: M[]): M[] {
    const isChat = messages.every((message) => chatMessageTraits.check?.(message) === undefined);
    if (!isChat) return messages;
    const paired = pairedHistory(messages as ChatMessage[]);
    const { threadId } = this;
    reportUnpaired({ scope: this.#store, threadId, onError: this.#onUnpaired }, paired.unpaired);
    return paired.messages as M[];
  }

  async read(options?: ReadOptions): Promise<ThreadPage<M>> {
    return await this.#store.read(options);
  }

  async popMessage(options?: { signal?: AbortSignal }): Promise<M | undefined> {
    return await this.#store.popMessage(options);
  }

  async clear(options?: WriteOptions): Promise<Revision | null> {
    return await this.#store.clear(options);
  }

  async expire(
    ttlMs: number | null,
    options?: Parameters<MessageStore["expire"]>[1],
  ): Promise<Revision | null> {
    return await this.#store.expire(ttlMs, options);
  }

  async serialize(): Promise<StoreState> {
    return await this.#store.serialize();
  }

  async updateFromState(state: unknown): Promise<void> {
    await this.#store.updateFromState(state);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store[Symbol.asyncDispose]();
  }

  async #afterAdd(
    added: Revision | null,
    messages: readonly M[],
    options: WriteOptions | undefined,
  ): Promise<Revision | null> {
    if (this.#when !== "afterAdd" || messages.length === 0) return added;
    try {
      const { written } = await this.#reduce(options?.signal);
      return written ?? added;
    } catch (error) {
      this.#onError(error);
      return added;
    }
  }

  /** Reduces the stored history. `written` is the revision of the reducing commit, if one was needed. */
  async #reduce(signal: AbortSignal | undefined): Promise<{ messages: M[]; written?: Revision | null }> {
    return await untilAborted(async () => {
      return await retryOnConflict(
        async () => {
          const { entries, revision } = await this.#store.read(signal && { signal });
          const stored = entries.map((entry) => entry.message);
          const messages = await this.#reducer.reduce(stored, signal && { signal });
          if (!Array.isArray(messages))
            invalid("withReducer: result of reducer.reduce() must be an array of messages");
          if (isSame(messages, stored)) return { messages };
          const expected = { expectedRevision: revision, ...(signal && { signal }) };
          return { messages, written: await this.#store.replaceMessages(messages, expected) };
        },
        { signal },
      );
    }, signal);
  }
}

function warn(cause: unknown): void {
  const warning = new Error("withReducer: reducing failed after a write, which is stored; see cause", {
    cause,
  });
  warning.name = "ScrollbackWarning";
  emitWarning(warning);
}
