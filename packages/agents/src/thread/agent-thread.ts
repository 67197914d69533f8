import type { ChatMessage, WriteOptions } from "@scrollback/store-core";
import { type Check, checkOptions, invalid, isId, isString } from "@scrollback/store-core/driver";
import { isSignal } from "@scrollback/store-core/internal";
import { type ContextProvider, isProviderList } from "../context/context-provider.ts";
import { checkMessages } from "../messages.ts";
import { Conversation } from "./conversation.ts";
import { isStoreSource, type StoreSource } from "./store-source.ts";
import type { ThreadState } from "./thread-state.ts";
import { isThreadStore, type ThreadStore } from "./thread-store.ts";

/** Options of {@link AgentThread}. `serviceThreadId` and `messageStore` exclude each other. */
export interface AgentThreadOptions {
  /** The provider's id of a history that it keeps. */
  serviceThreadId?: string | null | undefined;
  /** The store that holds the history. */
  messageStore?: ThreadStore | null | undefined;
  /** Where the store comes from when it is first needed. Default: from the first agent that runs the thread, or memory. */
  stores?: StoreSource | undefined;
  /** The providers whose state is saved with the thread. Default: those of the first agent that runs the thread. */
  contextProviders?: readonly ContextProvider[] | undefined;
}

const isOrNull =
  (check: Check): Check =>
  (value) =>
    value === null ? undefined : check(value);

const threadChecks = Object.freeze({
  serviceThreadId: isOrNull(isString),
  messageStore: isOrNull(isThreadStore),
  stores: isStoreSource,
  contextProviders: isProviderList,
});
const writeChecks = Object.freeze({ operationId: isId, signal: isSignal });

const conversations = new WeakMap<object, Conversation>();

/**
 * The internal state of a thread, for the agent that runs it.
 *
 * @throws StoreError `INVALID_ARGUMENT` for a value that is not a thread.
 */
export function conversationOf(thread: AgentThread): Conversation {
  const conversation = conversations.get(thread);
  return conversation ?? invalid("thread: must be an AgentThread, as getNewThread() returns it");
}

/**
 * One conversation: either a `serviceThreadId`, for a history that the model's provider keeps, or a `messageStore`. It has
 * neither until its first use, and never changes from one to the other. Created by `getNewThread` and `deserializeThread`
 * of an agent.
 *
 * @example
 * const thread = new AgentThread({ messageStore: stores.open("chat-1") });
 * await agent.run("Hello", { thread });
 */
export class AgentThread implements AsyncDisposable {
  readonly #conversation: Conversation;

  /** @throws StoreError `INVALID_ARGUMENT` for an invalid option, `INVALID_STATE` when both locations are given. */
  constructor(options: AgentThreadOptions = {}) {
    checkOptions("AgentThread", options, threadChecks);
    this.#conversation = new Conversation(options.stores, options.contextProviders);
    conversations.set(this, this.#conversation);
    this.messageStore = options.messageStore;
    this.serviceThreadId = options.serviceThreadId;
  }

  /** The provider's id of the history; undefined if the provider does not keep it, or not yet. */
  get serviceThreadId(): string | undefined {
    return this.#conversation.serviceThreadId;
  }

  /** Null and undefined change nothing. @throws StoreError `INVALID_STATE` for a thread that has a store. */
  set serviceThreadId(id: string | null | undefined) {
    if (id == null) return;
    const problem = isString(id);
    if (problem) invalid(`serviceThreadId ${problem}`);
    this.#conversation.setServiceThreadId(id);
  }

  /** The store that holds the history; undefined if the provider keeps it, or if there is none yet. */
  get messageStore(): ThreadStore | undefined {
    return this.#conversation.store;
  }

  /** Null and undefined change nothing. @throws StoreError `INVALID_STATE` for a thread that has a service id. */
  set messageStore(store: ThreadStore | null | undefined) {
    if (store == null) return;
    const problem = isThreadStore(store);
    if (problem) invalid(`messageStore ${problem}`);
    this.#conversation.setStore(store);
  }

  /** Whether the thread has a service id or a store. */
  get isInitialized(): boolean {
    return this.#conversation.serviceThreadId !== undefined || this.#conversation.store !== undefined;
  }

  /**
   * Adds messages to the store as one write. Creates the store if there is none yet. With a service id it does nothing: the
   * provider keeps the history.
   *
   * @throws StoreError `INVALID_ARGUMENT` for an invalid message, and what the store's `addMessages` throws.
   */
  async onNewMessages(
    messages: ChatMessage | readonly ChatMessage[],
    options: Pick<WriteOptions, "operationId" | "signal"> = {},
  ): Promise<void> {
    checkOptions("onNewMessages", options, writeChecks);
    const list = Array.isArray(messages) ? messages : [messages];
    checkMessages("messages", list);
    if (this.#conversation.serviceThreadId !== undefined) return;
    await this.#conversation.add(list, options);
    await this.#conversation.announce();
  }

  /** Returns plain JSON for `deserializeThread`, in any process. @throws what `serialize` of the store or a provider throws. */
  async serialize(): Promise<ThreadState> {
    return await this.#conversation.serialize();
  }

  /** Closes the context providers that were created for this thread. The store stays open. */
  async close(): Promise<void> {
    for (const provider of this.#conversation.own) await provider.close?.();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
