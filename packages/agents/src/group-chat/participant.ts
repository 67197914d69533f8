import { randomUUID } from "node:crypto";
import {
  type ChatMessage,
  type Check,
  hasMethods,
  invalid,
  isFunction,
  isString,
  jsonCodec,
} from "@scrollback/store-core";
import type { HistoryReducer, SpokenPart } from "../agent/index.ts";
import type { AgentChannel } from "./channels/channel.ts";

/**
 * Who can take part in a chat. A `ChatAgent` is one, an {@link AggregatorAgent} too, and so is any plain object with an
 * id and `invoke`.
 *
 * @example
 * const echo: ChatParticipant = {
 *   id: "echo",
 *   async *invoke(messages) {
 *     yield { role: "assistant", content: `${messages.length} messages so far` };
 *   },
 * };
 */
export interface ChatParticipant {
  /** Unique in a chat. */
  readonly id: string;
  /** Who its messages are from, as `authorName`. Default: the id. */
  readonly name?: string | undefined;
  /** Shortens, in place, what the participant's channel keeps of the chat. Default: it keeps all. */
  readonly reducer?: HistoryReducer | undefined;
  /**
   * One turn: is given its view of the chat, oldest first, its own messages under its name, and gives its messages, each
   * once it is complete. A message without an `authorName` gets its name; a system message is dropped.
   */
  invoke(messages: readonly ChatMessage[], options: { signal?: AbortSignal }): AsyncIterable<ChatMessage>;
  /** The same in pieces. Without it a message that `invoke` gives is one piece. */
  invokeStream?(
    messages: readonly ChatMessage[],
    options: { signal?: AbortSignal },
  ): AsyncIterable<SpokenPart>;
  /** The channel of a participant that keeps a state of its own. Default: a {@link ChatHistoryChannel}. Makes no request. */
  createChannel?(): AgentChannel;
}

/** By which name others know a participant. */
export function nameOf({ id, name }: ChatParticipant): string {
  return name ?? id;
}

/** The kind of a participant, by its class; kept in a chat's state. */
export function typeOf(participant: object): string {
  return participant.constructor?.name || "Object";
}

/** A participant. */
export const isParticipant: Check = (value) => {
  const problem = hasMethods("invoke")(value);
  if (problem) return problem;
  const { id, name, reducer, invokeStream, createChannel } = value as Record<string, unknown>;
  if (isString(id)) return `must have an id: id ${isString(id)}`;
  if (name !== undefined && isString(name)) return `.name ${isString(name)}`;
  if (reducer !== undefined && hasMethods("reduce")(reducer))
    return `.reducer ${hasMethods("reduce")(reducer)}`;
  for (const [method, given] of Object.entries({ invokeStream, createChannel })) {
    if (given !== undefined && isFunction(given)) return `.${method} must be a function`;
  }
  return undefined;
};

/** @throws StoreError `INVALID_ARGUMENT` that names the argument. */
export function checkParticipant(name: string, value: unknown): asserts value is ChatParticipant {
  const problem = isParticipant(value);
  if (problem) invalid(problem.startsWith(".") ? `${name}${problem}` : `${name} ${problem}`);
}

/** A message as it enters a chat: with an id, by which a chat inside another knows what it has already. */
export function entered(message: ChatMessage, authorName = message.authorName): ChatMessage {
  const { id = randomUUID() } = message;
  if (id === message.id && authorName === message.authorName) return message;
  return { ...message, id, ...(authorName !== undefined && { authorName }) };
}

/** A participant's message as it enters a chat. */
export function attributed(message: ChatMessage, participant: ChatParticipant): ChatMessage {
  return entered(message, message.authorName ?? nameOf(participant));
}

/** A message that is the reader's, or the chat's, own. */
export function copyOf(message: ChatMessage): ChatMessage {
  return jsonCodec.decode(jsonCodec.encode(message)) as ChatMessage;
}
