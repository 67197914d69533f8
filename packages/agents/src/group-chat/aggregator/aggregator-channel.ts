import { type ChatMessage, StoreError } from "@scrollback/store-core";
import { hasContent, hasToolContent } from "../../messages.ts";
import type { AgentChat } from "../agent-chat.ts";
import { channelKey } from "../channels/channel.ts";
import type { ChatState } from "../chat-state.ts";
import {
  type AgentChannel,
  type ChannelMessage,
  type ChannelPart,
  type ChatParticipant,
  nameOf,
} from "../participant.ts";

/** Which messages of an inner chat reach the outer chat: all messages of its agents, or only the last one. */
export type AggregatorMode = "flat" | "nested";

/** The properties of an aggregator that its channel uses. */
type Aggregator = ChatParticipant & { readonly mode: AggregatorMode };

/** The channel of one aggregator: its inner chat. */
export class AggregatorChannel implements AgentChannel {
  readonly key: string;
  readonly #mode: AggregatorMode;
  readonly #open: () => AgentChat;
  #opened: AgentChat | undefined;
  #hasReceived = false;
  #unsurfaced: readonly ChatMessage[] = [];
  #isRestored = false;

  constructor({ id, mode }: Aggregator, open: () => AgentChat) {
    this.key = channelKey("AggregatorChannel", id);
    this.#mode = mode;
    this.#open = open;
  }

  get #chat(): AgentChat {
    this.#opened ??= this.#open();
    return this.#opened;
  }

  async receive(messages: readonly ChatMessage[]): Promise<void> {
    const added = this.#hasReceived ? messages : await this.#new(messages);
    await this.#chat.addMessages(added.filter((message) => message.role !== "system" && hasContent(message)));
    this.#hasReceived = true;
  }

  /**
   * Of a whole history, the messages after the newest one that the stored inner chat already has. Inner messages after that
   * one were produced when the process ended and never reached the outer chat.
   */
  async #new(messages: readonly ChatMessage[]): Promise<readonly ChatMessage[]> {
    const inside = (await this.#chat.getMessages()).reverse();
    const isIn = (list: readonly ChatMessage[]) => {
      const ids = new Set(list.map(({ id }) => id));
      return ({ id }: ChatMessage) => id !== undefined && ids.has(id);
    };
    const newest = inside.findLastIndex(isIn(messages));
    if (newest !== -1) this.#unsurfaced = inside.slice(newest + 1).filter(isSurfacing);
    return messages.slice(messages.findLastIndex(isIn(inside)) + 1);
  }

  async *invoke(
    agent: ChatParticipant,
    options: { signal?: AbortSignal } = {},
  ): AsyncGenerator<ChannelMessage, void, void> {
    const isFlat = this.#mode === "flat";
    let last: ChatMessage | undefined;
    for await (const message of this.#messages(options)) {
      if (isFlat) yield { message, visible: true, isAnswer: false };
      last = message;
    }
    if (last && !isFlat) yield this.#asOne(last, agent);
  }

  /**
   * The messages of the inner chat, after earlier ones that never reached the outer chat. If the earlier ones completed the inner
   * chat, only these.
   */
  async *#messages(options: { signal?: AbortSignal }): AsyncGenerator<ChatMessage, void, void> {
    const before = this.#unsurfaced;
    this.#unsurfaced = [];
    yield* before;
    if (before.length === 0 || !this.#chat.isComplete) yield* this.#chat.invoke(undefined, options);
  }

  async *invokeStream(
    agent: ChatParticipant,
    options: { signal?: AbortSignal } = {},
  ): AsyncGenerator<ChannelPart, void, void> {
    let last: ChatMessage | undefined;
    if (this.#unsurfaced.length > 0) {
      yield* this.invoke(agent, options);
      return;
    }
    for await (const part of this.#chat.invokeStream(undefined, options)) {
      if (part.type === "message") last = part.message;
      if (this.#mode === "nested") continue;
      if (part.type === "message") yield { message: part.message, visible: true };
      else yield { text: part.text, authorName: part.authorName };
    }
    if (last && this.#mode === "nested") yield this.#asOne(last, agent);
  }

  /** Keeps the id, so that the inner chat recognizes its own message. */
  #asOne(message: ChatMessage, agent: ChatParticipant): ChannelMessage {
    return { message: { ...message, authorName: nameOf(agent) }, visible: true };
  }

  async getHistory(): Promise<ChatMessage[]> {
    return (await this.#chat.getMessages()).reverse();
  }

  async serialize(): Promise<unknown> {
    return await this.#chat.serialize();
  }

  async restore(state: unknown): Promise<void> {
    if (typeof state !== "object" || state === null) {
      throw new StoreError("INVALID_STATE", "state: must be a result of the inner chat's serialize()");
    }
    if (this.#chat.isAt(state as ChatState)) return;
    await this.#chat.restore(state);
    this.#isRestored = true;
    this.#hasReceived = true;
  }

  async undoRestore(): Promise<void> {
    if (this.#isRestored) await this.#chat.undoRestore();
  }

  async reset(): Promise<void> {
    await this.#chat.reset();
  }
}

/** Whether a message of an inner chat is an agent's message that the outer chat receives. */
function isSurfacing(message: ChatMessage): boolean {
  return message.role === "assistant" && !hasToolContent(message);
}
