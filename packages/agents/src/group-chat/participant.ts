import { randomUUID } from "node:crypto";
import { type ChatMessage, jsonCodec } from "@scrollback/store-core";
import { type Check, hasMethods, isString } from "@scrollback/store-core/driver";
import { isFunction } from "@scrollback/store-core/internal";
import type { HistoryReducer } from "../agent/history-reducer.ts";
import type { StreamedPart } from "../agent/run-steps.ts";

/**
 * A participant of a chat: a `ChatAgent`, an {@link AggregatorAgent}, or any object with an id and `invoke`.
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
  /** The `authorName` of its messages. Default: the id. */
  readonly name?: string | undefined;
  /** Shortens, in place, the history in the participant's channel. Default: the whole history is kept. */
  readonly reducer?: HistoryReducer | undefined;
  /**
   * Runs one turn. Receives the participant's view of the chat, oldest first, with its own messages under its name. Yields
   * each message when it is complete. A message without an `authorName` gets its name; a system message is dropped.
   */
  invoke(messages: readonly ChatMessage[], options: { signal?: AbortSignal }): AsyncIterable<ChatMessage>;
  /** Like `invoke`, in pieces. Default: each message of `invoke` is one piece. */
  invokeStream?(
    messages: readonly ChatMessage[],
    options: { signal?: AbortSignal },
  ): AsyncIterable<StreamedPart>;
  /** Creates the channel of a participant with its own kind of state. Does no I/O. Default: a {@link ChatHistoryChannel}. */
  createChannel?(): AgentChannel;
}

/** A message of an agent's turn. An invisible one enters the history but is not yielded to the caller. */
export interface ChannelMessage {
  readonly message: ChatMessage;
  readonly visible: boolean;
  /** Whether the turn counts as answered if the process ends after this message. Default: true without tool content. */
  readonly isAnswer?: boolean;
}

/** A piece of a text, or a complete message. */
export type ChannelPart = { readonly text: string; readonly authorName?: string } | ChannelMessage;

/**
 * One kind of agent state in a chat: what the agents with this `key` know of it. The chat creates one for the first agent
 * with a key, and sends it all messages of other channels, in order.
 */
export interface AgentChannel {
  /** Agents whose channels have equal keys share one; see `channelKey`. */
  readonly key: string;
  /** Receives messages of other channels, oldest first. A batch that fails is sent again. */
  receive(messages: readonly ChatMessage[]): Promise<void>;
  /**
   * Runs one turn of `agent`. A message yielded as invisible may be yielded again, as the same object, as visible; it
   * enters the history once.
   */
  invoke(agent: ChatParticipant, options: { signal?: AbortSignal }): AsyncIterable<ChannelMessage>;
  /** Like `invoke`, in pieces. Default: each message of `invoke` is one piece. */
  invokeStream?(agent: ChatParticipant, options: { signal?: AbortSignal }): AsyncIterable<ChannelPart>;
  /** What the channel's agents see of the chat, oldest first. */
  getHistory(): Promise<ChatMessage[]>;
  /** Plain JSON. Without this method a restored chat rebuilds the channel from its history. */
  serialize?(): Promise<unknown>;
  restore?(state: unknown): Promise<void>;
  /** Reverts `restore` when restoring the chat failed later. Without this method the channel is dropped. */
  undoRestore?(): Promise<void>;
  /** Called when the chat is reset. */
  reset?(): Promise<void>;
}

/** The name of a participant on its messages. */
export function nameOf({ id, name }: ChatParticipant): string {
  return name ?? id;
}

/** The kind of a participant: the name of its class, stored in a chat's state. */
export function typeOf(participant: object): string {
  return participant.constructor?.name || "Object";
}

const fieldChecks = {
  name: isString,
  reducer: hasMethods("reduce"),
  invokeStream: isFunction,
  createChannel: isFunction,
};

/** A participant. */
export const isParticipant: Check = (value) => {
  const problem = hasMethods("invoke")(value);
  if (problem) return problem;
  const fields = value as Record<string, unknown>;
  if (isString(fields.id)) return `must have an id: id ${isString(fields.id)}`;
  for (const [name, check] of Object.entries(fieldChecks)) {
    const wrong = fields[name] === undefined ? undefined : check(fields[name]);
    if (wrong) return `.${name} ${wrong}`;
  }
  return undefined;
};

/** A message for a chat: with an id, by which an inner chat recognizes the messages that it has. */
export function entered(message: ChatMessage, authorName = message.authorName): ChatMessage {
  const { id = randomUUID() } = message;
  if (id === message.id && authorName === message.authorName) return message;
  return { ...message, id, ...(authorName !== undefined && { authorName }) };
}

/** A participant's message for a chat. */
export function attributed(message: ChatMessage, participant: ChatParticipant): ChatMessage {
  return entered(message, message.authorName ?? nameOf(participant));
}

/** A separate copy for the reader or the chat. */
export function copyOf(message: ChatMessage): ChatMessage {
  return jsonCodec.decode(jsonCodec.encode(message)) as ChatMessage;
}
