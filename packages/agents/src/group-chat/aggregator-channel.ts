import { type ChatMessage, StoreError } from "@scrollback/store-core";
import type { AgentChat } from "./agent-chat.ts";
import type { AggregatorMode } from "./aggregator-agent.ts";
import { type AgentChannel, type ChannelMessage, type ChannelPart, channelKey } from "./channel.ts";
import type { ChatState } from "./chat-state.ts";
import { type ChatParticipant, nameOf } from "./participant.ts";
import { hasContent } from "./said.ts";

/** What a channel knows of the aggregator that it is of. */
type Aggregator = ChatParticipant & { readonly mode: AggregatorMode };

/** The channel of one aggregator: its inner chat. */
export class AggregatorChannel implements AgentChannel {
  readonly key: string;
  readonly #mode: AggregatorMode;
  readonly #open: () => AgentChat;
  #opened: AgentChat | undefined;
  #hasReceived = false;
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

  /** Of a whole history what comes behind the newest message that an inner chat on a store has from an earlier time. */
  async #new(messages: readonly ChatMessage[]): Promise<readonly ChatMessage[]> {
    const known = new Set((await this.#chat.getMessages()).map(({ id }) => id));
    return messages.slice(messages.findLastIndex(({ id }) => id !== undefined && known.has(id)) + 1);
  }

  async *invoke(
    agent: ChatParticipant,
    options: { signal?: AbortSignal } = {},
  ): AsyncGenerator<ChannelMessage, void, void> {
    let last: ChatMessage | undefined;
    for await (const message of this.#chat.invoke(undefined, options)) {
      if (this.#mode === "flat") yield { message, visible: true };
      last = message;
    }
    if (last && this.#mode === "nested") yield this.#asOne(last, agent);
  }

  async *invokeStream(
    agent: ChatParticipant,
    options: { signal?: AbortSignal } = {},
  ): AsyncGenerator<ChannelPart, void, void> {
    let last: ChatMessage | undefined;
    for await (const part of this.#chat.invokeStream(undefined, options)) {
      if (part.type === "message") last = part.message;
      if (this.#mode === "nested") continue;
      if (part.type === "message") yield { message: part.message, visible: true };
      else yield { text: part.text, authorName: part.authorName };
    }
    if (last && this.#mode === "nested") yield this.#asOne(last, agent);
  }

  /** The id stays, so that the inner chat knows the message for its own. */
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
      throw new StoreError("INVALID_STATE", "state: must be what the inner chat's serialize() gave");
    }
    if (this.#chat.isAt(state as ChatState)) return;
    await this.#chat.restore(state);
    this.#isRestored = true;
  }

  async undoRestore(): Promise<void> {
    if (this.#isRestored) await this.#chat.undoRestore();
  }

  async reset(): Promise<void> {
    await this.#chat.reset();
  }
}
