import { StoreError } from "@scrollback/store-core";
import { isString } from "@scrollback/store-core/driver";
import { type ChatParticipant, typeOf } from "./participant.ts";

/** A turn that has begun and is not known to have ended: its agent, and whether the agent answered. */
export interface OpenTurn {
  readonly agent: string;
  readonly isAnswered: boolean;
}

/** The data that a chat stores with its messages. Plain JSON. */
export interface ChatProgress {
  readonly isComplete: boolean;
  /** The result of the selection's `serialize()`. */
  readonly selection?: unknown;
  readonly turn?: OpenTurn;
}

/** A saved channel. */
export interface ChannelState {
  readonly key: string;
  readonly type: string;
  /** The ids of the agents that have taken a turn in it. */
  readonly agents: readonly string[];
  readonly state: unknown;
}

/**
 * A chat as plain JSON. With a `store` it holds no message text; without one, the history and the channels' states hold the
 * messages.
 */
export interface ChatState extends ChatProgress {
  readonly type: "scrollback.groupChat";
  readonly version: 1;
  readonly participants: readonly { readonly id: string; readonly name?: string; readonly type: string }[];
  /** The result of `serialize()` of the history's store. */
  readonly history: unknown;
  /** Absent with a `store`: the channels are rebuilt from the history. */
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
 * Parses a chat's state from an untrusted source.
 *
 * @throws StoreError `INVALID_STATE` that names the invalid field.
 */
export function parseChatState(value: unknown): ChatState {
  const state: unknown = value;
  if (!isObject(state)) return refuse("state: must be an object that a chat's serialize() returned");
  const { type, version, participants, history, channels = [] } = state;
  if (type !== "scrollback.groupChat") refuse('state: type must be "scrollback.groupChat"');
  if (version !== 1)
    refuse("state: version must be 1; upgrade @scrollback/agents if a newer version wrote it");
  if (!Array.isArray(participants) || !participants.every(isParticipantState)) {
    refuse("state: participants must be an array of { id, name?, type }");
  }
  if (!isObject(history)) refuse("state: history must be a result of a store's serialize()");
  if (!Array.isArray(channels) || !channels.every(isChannelState)) {
    refuse("state: channels must be an array of { key, type, agents, state }");
  }
  parseProgress(state, "state");
  return value as ChatState;
}

/** @throws StoreError `INVALID_STATE` that names the invalid field, prefixed with `name`. */
export function parseProgress(value: unknown, name: string): ChatProgress {
  const progress: unknown = value;
  if (!isObject(progress)) return refuse(`${name}: must be the progress of a chat`);
  const { version, isComplete, turn } = progress;
  if (version !== 1)
    refuse(`${name}: version must be 1; upgrade @scrollback/agents if a newer version wrote it`);
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
