/**
 * The chat message history of LangChain, over any Scrollback store.
 *
 * @packageDocumentation
 */

import { BaseListChatMessageHistory } from "@langchain/core/chat_history";
import {
  type BaseMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  type StoredMessage,
} from "@langchain/core/messages";
import { envelope, nameOf, valueOf as valueOfEnvelope } from "@scrollback/collections";
import {
  type ChatMessage,
  chatMessageTraits,
  checkOptions,
  hasMethods,
  invalid,
  isId,
  type MessageStore,
  StoreError,
  type StoreFactory,
} from "@scrollback/store-core";

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

  /** Does no I/O. @throws StoreError `INVALID_ARGUMENT` for an invalid option. */
  constructor(options: ScrollbackChatMessageHistoryOptions) {
    super();
    const owner = "ScrollbackChatMessageHistory";
    checkOptions(owner, options ?? null, { stores: hasMethods("withTraits"), sessionId: isId });
    const { stores, sessionId } = options;
    if (stores === undefined) invalid(`${owner}: stores must be a store factory`);
    if (sessionId === undefined) invalid(`${owner}: sessionId must be given`);
    this.#store = stores.withTraits(chatMessageTraits).open(`langchain:${nameOf(sessionId)}`);
  }

  /** The id of the conversation's thread, for `stores.deleteThread` and `stores.copyThread`. */
  get threadId(): string {
    return this.#store.threadId;
  }

  /** Returns all messages, oldest first. */
  override async getMessages(): Promise<BaseMessage[]> {
    const stored = (await this.#store.listMessages()).map((message) =>
      valueOfEnvelope<StoredMessage>(message),
    );
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
   * Adds messages in one commit.
   *
   * @throws StoreError `INVALID_ARGUMENT` for a value that is not a message, and for messages that LangChain does not restore,
   *   such as a `RemoveMessage`.
   */
  override async addMessages(messages: BaseMessage[]): Promise<void> {
    checkMessages(messages);
    const stored = mapChatMessagesToStoredMessages(messages);
    const envelopes = messages.map(({ type }, index) =>
      envelope(roleOf(type), withoutUndefined(stored[index])),
    );
    await this.#store.addMessages(envelopes);
  }

  override async clear(): Promise<void> {
    await this.#store.clear();
  }
}

function checkMessages(messages: unknown): asserts messages is BaseMessage[] {
  if (!Array.isArray(messages)) invalid("addMessages: messages must be an array; pass messages of LangChain");
  for (const [index, message] of messages.entries()) {
    if (hasMethods("toDict")(message))
      invalid(`addMessages: messages[${index}] is not a message; pass a message of LangChain`);
    try {
      mapStoredMessagesToChatMessages(mapChatMessagesToStoredMessages([message]));
    } catch (cause) {
      const type = String((message as BaseMessage).type);
      throw new StoreError(
        "INVALID_ARGUMENT",
        `addMessages: messages[${index}] is a message of type "${type}", which LangChain does not restore; leave it out`,
        { cause },
      );
    }
  }
}

/** The role for trimming: a turn begins with a human message, and a tool message stays with the preceding message. */
function roleOf(type: BaseMessage["type"]): ChatMessage["role"] {
  if (type === "human") return "user";
  if (type === "system" || type === "developer") return "system";
  return type === "tool" || type === "function" ? "tool" : "assistant";
}

/** Copies a value without its undefined fields, of which LangChain's messages have many. */
function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutUndefined(inner)]));
}
