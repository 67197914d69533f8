import { randomUUID } from "node:crypto";
import type { ChatMessage } from "@scrollback/store-core";
import { type Check, checkOptions, invalid, isOneOf, isString } from "@scrollback/store-core/driver";
import { AgentChat } from "../agent-chat.ts";
import type { AgentChannel, ChatParticipant } from "../participant.ts";
import { AggregatorChannel, type AggregatorMode } from "./aggregator-channel.ts";

/** Options of {@link AggregatorAgent}. */
export interface AggregatorAgentOptions {
  name: string;
  /** Default: a new UUID. To restore a chat, use the same id again. */
  id?: string;
  mode: AggregatorMode;
  /** The inner chat, or a function that creates one for each outer chat. */
  chat: AgentChat | (() => AgentChat);
}

const isChat: Check = (value) =>
  typeof value === "function" || value instanceof AgentChat
    ? undefined
    : "must be an AgentChat, or a function that returns one";
const optionChecks: Readonly<Record<keyof AggregatorAgentOptions, Check>> = Object.freeze({
  name: isString,
  id: isString,
  mode: isOneOf("flat", "nested"),
  chat: isChat,
});

/**
 * A whole chat as one agent of another chat. It receives the outer chat's messages; its turn is one `invoke` of the inner
 * chat. With `"flat"` all inner messages reach the outer chat; with `"nested"` only the last one, under the aggregator's
 * name. The inner chat keeps all. An inner chat that completes with each turn needs `automaticReset`.
 *
 * @example
 * const editors = new AggregatorAgent({ name: "Editors", mode: "nested", chat: () => new AgentGroupChat({ … }) });
 * const chat = new AgentGroupChat({ agents: [author, editors] });
 */
export class AggregatorAgent implements ChatParticipant {
  readonly id: string;
  readonly name: string;
  readonly mode: AggregatorMode;
  readonly #chat: AgentChat | (() => AgentChat);

  /** @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option. */
  constructor(options: AggregatorAgentOptions) {
    checkOptions("AggregatorAgent", options, optionChecks, ["name", "mode", "chat"]);
    const { name, id = randomUUID(), mode, chat } = options;
    this.id = id;
    this.name = name;
    this.mode = mode;
    this.#chat = chat;
  }

  createChannel(): AgentChannel {
    return new AggregatorChannel(this, () => this.#open());
  }

  /** Runs one turn of the inner chat, which receives `messages` first. */
  async *invoke(
    messages: readonly ChatMessage[],
    options: { signal?: AbortSignal } = {},
  ): AsyncGenerator<ChatMessage, void, void> {
    const channel = new AggregatorChannel(this, () => this.#open());
    await channel.receive(messages);
    for await (const { message } of channel.invoke(this, options)) yield message;
  }

  #open(): AgentChat {
    const chat = typeof this.#chat === "function" ? this.#chat() : this.#chat;
    return chat instanceof AgentChat
      ? chat
      : invalid("AggregatorAgent: result of chat() must be an AgentChat");
  }
}
