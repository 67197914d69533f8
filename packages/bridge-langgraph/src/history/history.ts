/**
 * The chat message history of LangChain, over any Scrollback store.
 *
 * @packageDocumentation
 */

import { BaseListChatMessageHistory } from "@langchain/core/chat_history";
import {
  type BaseMessage,
  mapStoredMessagesToChatMessages,
  type StoredMessage,
} from "@langchain/core/messages";
import { envelope, nameOf, valueOf as valueOfEnvelope } from "@scrollback/collections";
import { chatMessageTraits, type MessageStore, StoreError, type StoreFactory } from "@scrollback/store-core";
import { checkOptions, invalid, isId, isObject } from "@scrollback/store-core/driver";
import { isStoreFactory, pairedHistory, reportUnpaired } from "@scrollback/store-core/internal";
import { roleOf, storedHistoryTraits } from "./stored-history.ts";
import { toStoredMessage } from "./stored-message.ts";

/** Options of {@link ScrollbackChatMessageHistory}. */
export interface ScrollbackChatMessageHistoryOptions {
  /** A store factory of any backend. Its `maxMessages` and `ttlMs` apply. The factory stays open. */
  readonly stores: Pick<StoreFactory, "withTraits">;
  /** The id of the conversation. */
  readonly sessionId: string;
}

/**
 * A LangChain chat message history on the stores of any Scrollback backend. A conversation is the thread `langchain:<sessionId>`,
 * with the id escaped, and each LangChain message is one message of the thread. Any number of processes may share it.
 *
 * @example
 * const getMessageHistory = (sessionId: string) => new ScrollbackChatMessageHistory({ stores, sessionId });
 * const chain = new RunnableWithMessageHistory({ runnable, getMessageHistory });
 */
export class ScrollbackChatMessageHistory extends BaseListChatMessageHistory {
  lc_namespace = ["scrollback", "langchain"];
  readonly #store: MessageStore;
  readonly #stores: ScrollbackChatMessageHistoryOptions["stores"];

  /** Does no I/O. @throws StoreError `INVALID_ARGUMENT` for an invalid option. */
  constructor(options: ScrollbackChatMessageHistoryOptions) {
    super();
    const checks = { stores: isStoreFactory(), sessionId: isId };
    checkOptions("ScrollbackChatMessageHistory", options, checks, ["stores", "sessionId"]);
    const { stores, sessionId } = options;
    this.#stores = stores;
    this.#store = stores.withTraits(chatMessageTraits).open(`langchain:${nameOf(sessionId)}`);
  }

  /** The id of the conversation's thread, for `stores.deleteThread` and `stores.copyThread`. */
  get threadId(): string {
    return this.#store.threadId;
  }

  /**
   * Returns all messages, oldest first. Leaves out what models refuse: a tool's result without its call that another message
   * follows, and a call without its result that a human message follows. A warning of the process reports this once a conversation.
   */
  override async getMessages(): Promise<BaseMessage[]> {
    const all = (await this.#store.listMessages()).map((message) =>
      valueOfEnvelope<StoredMessage>(message, isObject),
    );
    // Results at the end are read as they were added: their turn is not over.
    const end = all.findLastIndex(({ type }) => type !== "tool") + 1;
    const { messages, unpaired } = pairedHistory(all.slice(0, end), storedHistoryTraits);
    reportUnpaired({ scope: this.#stores, threadId: this.threadId }, unpaired);
    const stored = [...messages, ...all.slice(end)];
    try {
      return mapStoredMessagesToChatMessages(stored);
    } catch (cause) {
      const message = "getMessages: a stored message is not a message that LangChain restores";
      throw new StoreError("CORRUPT", message, { cause });
    }
  }

  override async addMessage(message: BaseMessage): Promise<void> {
    await this.addMessages([message]);
  }

  /**
   * Adds messages in one commit. Their values are kept as the stores keep values, Dates and Maps too; an instance of a class
   * becomes a plain object of its fields.
   *
   * @throws StoreError `INVALID_ARGUMENT` for a value that is not a message, for messages that LangChain does not restore, such
   *   as a `RemoveMessage`, and for values that the stores do not keep, such as a function. Nothing is written then.
   */
  override async addMessages(messages: BaseMessage[]): Promise<void> {
    if (!Array.isArray(messages))
      invalid("addMessages: messages must be an array; pass messages of LangChain");
    const envelopes = messages.map((message, index) => {
      const stored = toStoredMessage(message, index);
      return envelope(roleOf(stored.type), stored);
    });
    await this.#store.addMessages(envelopes);
  }

  override async clear(): Promise<void> {
    await this.#store.clear();
  }
}
