import { isString, StoreError } from "@scrollback/store-core";
import { type ChatParticipant, typeOf } from "./participant.ts";

/** A turn that began and is not known to have ended: whose it is, and whether it came to an answer. */
export interface OpenTurn {
  readonly agent: string;
  readonly isAnswered: boolean;
}

/** What a chat keeps beside its messages. Plain JSON. */
export interface ChatProgress {
  readonly isComplete: boolean;
  /** What the selection's `serialize()` gave. */
  readonly selection?: unknown;
  readonly turn?: OpenTurn;
}

/** A channel as it was saved. */
export interface ChannelState {
  readonly key: string;
  readonly type: string;
  /** The ids of the agents that have spoken in it. */
  readonly agents: readonly string[];
  readonly state: unknown;
}

/**
 * A chat as plain JSON. With a `store` of the chat's own there is no message text in it; without one, the history and the
 * channels' states hold the messages.
 */
export interface ChatState extends ChatProgress {
  readonly type: "scrollback.groupChat";
  readonly version: 1;
  readonly participants: readonly { readonly id: string; readonly name?: string; readonly type: string }[];
  /** What the `serialize()` of the history's store gave. */
  readonly history: unknown;
  /** Absent with a `store`: the channels are then rebuilt from the history. */
  readonly channels?: readonly ChannelState[];
}

type Fields = Record<string, unknown>;

function refuse(problem: string): never {
  throw new StoreError("INVALID_STATE", problem);
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Reads a chat's state that came from anywhere.
 *
 * @throws StoreError `INVALID_STATE` that names the field at fault.
 */
export function parseChatState(value: unknown): ChatState {
  const state: unknown = value;
  if (!isObject(state)) return refuse("state: must be an object that a chat's serialize() gave");
  const { type, version, participants, history, channels = [] } = state;
  if (type !== "scrollback.groupChat") refuse('state: type must be "scrollback.groupChat"');
  if (version !== 1) refuse("state: version must be 1; was it written by a newer version of Scrollback?");
  if (!Array.isArray(participants) || !participants.every(isParticipantState)) {
    refuse("state: participants must be a list of { id, name?, type }");
  }
  if (!isObject(history)) refuse("state: history must be what a store's serialize() gave");
  if (!Array.isArray(channels) || !channels.every(isChannelState)) {
    refuse("state: channels must be a list of { key, type, agents, state }");
  }
  parseProgress(state, "state");
  return value as ChatState;
}

/** @throws StoreError `INVALID_STATE` that names the field at fault, behind `name`. */
export function parseProgress(value: unknown, name: string): ChatProgress {
  const progress: unknown = value;
  if (!isObject(progress)) return refuse(`${name}: must be what a chat keeps of itself`);
  const { version, isComplete, turn } = progress;
  if (version !== 1) refuse(`${name}: version must be 1; was it written by a newer version of Scrollback?`);
  if (typeof isComplete !== "boolean") refuse(`${name}: isComplete must be true or false`);
  if (turn !== undefined) {
    if (!isObject(turn) || isString(turn.agent) || typeof turn.isAnswered !== "boolean") {
      refuse(`${name}: turn must be { agent, isAnswered }`);
    }
  }
  return value as ChatProgress;
}

/** @throws StoreError `INVALID_STATE` that names the participants of a state that are not among the agents. */
export function checkPresent(saved: ChatState["participants"], agents: readonly ChatParticipant[]): void {
  const missing = saved.filter(
    ({ id, type }) => !agents.some((agent) => agent.id === id && typeOf(agent) === type),
  );
  if (missing.length === 0) return;
  const names = missing.map(({ id, name, type }) => `${name ?? id} (${type}, id "${id}")`).join(", ");
  refuse(`state: participants: missing in this chat: ${names}`);
}

function isParticipantState(value: unknown): boolean {
  if (!isObject(value) || isString(value.id) || isString(value.type)) return false;
  return value.name === undefined || isString(value.name) === undefined;
}

function isChannelState(value: unknown): boolean {
  if (!isObject(value) || isString(value.key) || isString(value.type)) return false;
  return Array.isArray(value.agents) && !value.agents.some(isString);
}
