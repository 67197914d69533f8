import { hash } from "node:crypto";
import { type ChatMessage, hasMethods, invalid, isString } from "@scrollback/store-core";
import type { HistoryReducer } from "../../agent/index.ts";
import type { ChatParticipant } from "../participant.ts";

/** A message that an agent said in its turn. Invisible ones enter the history, but are not given to who invoked it. */
export interface ChannelMessage {
  readonly message: ChatMessage;
  readonly visible: boolean;
  /** Whether the turn may have ended with it, should the process die behind it. Default: unless it has tool content. */
  readonly isAnswer?: boolean;
}

/** A piece of what an agent says, or a message that is complete. */
export type ChannelPart = { readonly text: string; readonly authorName?: string } | ChannelMessage;

/**
 * One kind of agent state in a chat: what agents with this `key` know of it. The chat makes one for the first agent with
 * a key, and gives it everything that is said in other channels, in order.
 */
export interface AgentChannel {
  /** Agents whose channels have equal keys share one; see {@link channelKey}. */
  readonly key: string;
  /** Takes what others said, oldest first. A batch whose receipt fails is given again. */
  receive(messages: readonly ChatMessage[]): Promise<void>;
  /**
   * One turn of `agent`. A message that was given invisible may be given again, the same object, as visible; it enters the
   * history once.
   */
  invoke(agent: ChatParticipant, options: { signal?: AbortSignal }): AsyncIterable<ChannelMessage>;
  /** The same in pieces. Default: a message that `invoke` gives is one piece. */
  invokeStream?(agent: ChatParticipant, options: { signal?: AbortSignal }): AsyncIterable<ChannelPart>;
  /** What the channel's agents see of the chat, oldest first. */
  getHistory(): Promise<ChatMessage[]>;
  /** Plain JSON. Without it the channel is rebuilt from the chat's history when the chat is restored. */
  serialize?(): Promise<unknown>;
  restore?(state: unknown): Promise<void>;
  /** Takes back a `restore`, as that of the chat failed later. Left out, the channel is let go. */
  undoRestore?(): Promise<void>;
  /** Called when the chat is reset. */
  reset?(): Promise<void>;
}

/** The key of channels that are interchangeable where all of these parts are equal: a digest of them. */
export function channelKey(...parts: readonly string[]): string {
  return hash("sha256", JSON.stringify(parts), "base64url").slice(0, 22);
}

const identities = new WeakMap<HistoryReducer, string>();
let identity = 0;

/** What makes two reducers interchangeable: their class and their settings, or that they are one. */
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

/** @throws StoreError `INVALID_ARGUMENT` for what a participant's `createChannel` must not return. */
export function checkChannel(value: unknown, agent: ChatParticipant): asserts value is AgentChannel {
  const name = `createChannel of agent "${agent.id}"`;
  const problem = hasMethods("receive", "invoke", "getHistory")(value);
  if (problem) invalid(`${name}: what it returns ${problem}`);
  const { key } = value as AgentChannel;
  if (isString(key)) invalid(`${name}: key ${isString(key)}`);
}
