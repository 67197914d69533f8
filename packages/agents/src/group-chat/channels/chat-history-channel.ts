import { type ChatMessage, jsonCodec, StoreError } from "@scrollback/store-core";
import { isString } from "@scrollback/store-core/driver";
import { untilAborted } from "@scrollback/store-core/internal";
import { type HistoryReducer, reducedBy } from "../../agent/history-reducer.ts";
import { checkMessages, hasContent, hasToolContent } from "../../messages.ts";
import {
  type AgentChannel,
  attributed,
  type ChannelMessage,
  type ChannelPart,
  type ChatParticipant,
  nameOf,
} from "../participant.ts";
import { abortable } from "./abortable.ts";
import { channelKey, reducerKey } from "./channel.ts";

/**
 * The channel of agents whose only state is a history. Agents with equal reducers share one. Before each turn the agent's reducer
 * shortens the history in place, so the reducer limits the size of the channel. A message with a tool call or result is visible
 * only if it is the last of the turn.
 */
export class ChatHistoryChannel implements AgentChannel {
  readonly key: string;
  #history: ChatMessage[] = [];

  constructor(reducer?: HistoryReducer) {
    this.key = channelKey("ChatHistoryChannel", reducerKey(reducer));
  }

  async receive(messages: readonly ChatMessage[]): Promise<void> {
    for (const message of messages) if (hasContent(message)) this.#history.push(message);
  }

  async *invoke(
    agent: ChatParticipant,
    options: { signal?: AbortSignal } = {},
  ): AsyncGenerator<ChannelMessage, void, void> {
    const messages = await this.#prepare(agent, options.signal);
    for await (const part of this.#take(agent, agent.invoke(messages, options), options.signal)) {
      if ("message" in part) yield part;
    }
  }

  async *invokeStream(
    agent: ChatParticipant,
    options: { signal?: AbortSignal } = {},
  ): AsyncGenerator<ChannelPart, void, void> {
    const messages = await this.#prepare(agent, options.signal);
    const parts = agent.invokeStream?.(messages, options) ?? agent.invoke(messages, options);
    yield* this.#take(agent, parts, options.signal);
  }

  async getHistory(): Promise<ChatMessage[]> {
    return [...this.#history];
  }

  async serialize(): Promise<unknown> {
    return { messages: this.#history.map((message) => jsonCodec.encode(message)) };
  }

  async restore(state: unknown): Promise<void> {
    const { messages } = (state ?? {}) as Record<string, unknown>;
    if (!Array.isArray(messages) || messages.some(isString)) {
      throw new StoreError("INVALID_STATE", "messages must be an array of records");
    }
    const restored: unknown[] = messages.map((record) => jsonCodec.decode(record));
    checkMessages("messages", restored);
    this.#history = restored;
  }

  async reset(): Promise<void> {
    this.#history = [];
  }

  async #prepare(agent: ChatParticipant, signal: AbortSignal | undefined): Promise<ChatMessage[]> {
    const { reducer } = agent;
    if (reducer && this.#history.length > 0) {
      const reduce = () => reducedBy("reducer", reducer, [...this.#history], signal);
      this.#history = [...(await untilAborted(reduce, signal))];
    }
    return [...this.#history];
  }

  async *#take(
    agent: ChatParticipant,
    parts: AsyncIterable<unknown>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<ChannelPart, void, void> {
    let last: ChannelMessage | undefined;
    for await (const part of abortable(parts, signal)) {
      const { type, text, message: complete } = (part ?? {}) as Record<string, unknown>;
      if (type === "text-delta") {
        yield { text: String(text), authorName: nameOf(agent) };
        continue;
      }
      const given = [type === "message" ? complete : part];
      checkMessages(`agent "${agent.id}": message`, given);
      const message = attributed(given[0] as ChatMessage, agent);
      if (message.role === "system") continue;
      if (hasContent(message)) this.#history.push(message);
      last = { message, visible: !hasToolContent(message) };
      yield last;
    }
    if (last && !last.visible) yield { ...last, visible: true };
  }
}
