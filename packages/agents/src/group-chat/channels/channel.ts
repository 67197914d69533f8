import { hash } from "node:crypto";
import { type ChatMessage, hasMethods, invalid, isString } from "@scrollback/store-core";
import type { HistoryReducer } from "../../agent/index.ts";
import type { ChatParticipant } from "../participant.ts";

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
  /** Agents whose channels have equal keys share one; see {@link channelKey}. */
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

/** The key of channels that are interchangeable if all these parts are equal: a digest of the parts. */
export function channelKey(...parts: readonly string[]): string {
  return hash("sha256", JSON.stringify(parts), "base64url").slice(0, 22);
}

const identities = new WeakMap<HistoryReducer, string>();
let identity = 0;

/** A text that is equal for interchangeable reducers: the same object, or the same class and settings. */
export function reducerKey(reducer: HistoryReducer | undefined): string {
  if (!reducer) return "";
  const type = reducer.constructor?.name ?? "";
  if (reducer.settings !== undefined) return `${type} ${JSON.stringify(reducer.settings)}`;
  const known = identities.get(reducer);
  if (known !== undefined) return known;
  identity += 1;
  const own = `${type} #${identity}`;
  identities.set(reducer, own);
  return own;
}

/** @throws StoreError `INVALID_ARGUMENT` for an invalid result of a participant's `createChannel`. */
export function checkChannel(value: unknown, agent: ChatParticipant): asserts value is AgentChannel {
  const name = `createChannel of agent "${agent.id}"`;
  const problem = hasMethods("receive", "invoke", "getHistory")(value);
  if (problem) invalid(`${name}: result ${problem}`);
  const { key } = value as AgentChannel;
  if (isString(key)) invalid(`${name}: key ${isString(key)}`);
}
