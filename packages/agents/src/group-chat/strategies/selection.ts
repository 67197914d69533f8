import { type ChatMessage, StoreError } from "@scrollback/store-core";
import { type Check, hasMethods } from "@scrollback/store-core/driver";
import { untilAborted } from "@scrollback/store-core/internal";
import { type ChatParticipant, nameOf } from "../participant.ts";

/** What a selection receives with the agents and the history. */
export interface SelectionOptions {
  readonly signal?: AbortSignal;
  /** The chat's `initialAgent`, if it has one. It or another agent has taken a turn already. */
  readonly initialAgent?: ChatParticipant;
}

/** Selects the agent of the next turn. */
export interface SelectionStrategy {
  /** Returns one of `agents`, which are in joining order. The history is oldest first. */
  next(
    agents: readonly ChatParticipant[],
    history: readonly ChatMessage[],
    options: SelectionOptions,
  ): Promise<ChatParticipant>;
  /** Starts over; called when the chat is reset. */
  reset?(): void;
  /** The selection's position as plain JSON. Stored with the history, in the commit of the agent's messages. */
  serialize?(): unknown;
  /** Receives what `serialize` returned. */
  restore?(position: unknown): void;
}

/** A strategy, or a function that receives the agents and the history (oldest first) and returns the next agent. */
export type Selection =
  | SelectionStrategy
  | ((
      agents: readonly ChatParticipant[],
      history: readonly ChatMessage[],
    ) => ChatParticipant | Promise<ChatParticipant>);

/** A selection. */
export const isSelection: Check = (value) =>
  typeof value === "function" || hasMethods("next")(value) === undefined
    ? undefined
    : "must be a function, or an object with the method next";

/**
 * Asks a selection.
 *
 * @throws what the selection throws; StoreError `INVALID_STATE` without agents, `INVALID_ARGUMENT` for a result that is not
 *   one of them.
 */
export async function select(
  selection: Selection,
  agents: readonly ChatParticipant[],
  history: readonly ChatMessage[],
  options: SelectionOptions,
): Promise<ChatParticipant> {
  if (agents.length === 0) {
    throw new StoreError("INVALID_STATE", "Agent Failure - No agents present to select.");
  }
  const list = [...agents];
  const agent = await untilAborted(
    async () =>
      typeof selection === "function"
        ? await selection(list, [...history])
        : await selection.next(list, [...history], options),
    options.signal,
  );
  const known = agents.find(({ id }) => id === agent?.id);
  if (known) return known;
  throw new StoreError("INVALID_ARGUMENT", "selection: must return one of the chat's agents");
}

/** Each agent in turn, in joining order, repeatedly. */
export class SequentialSelection implements SelectionStrategy {
  /** The index of the agent of the last turn; -1 before the first. */
  #index = -1;

  async next(
    agents: readonly ChatParticipant[],
    history: readonly ChatMessage[],
    { initialAgent }: SelectionOptions = {},
  ): Promise<ChatParticipant> {
    const [first] = agents;
    if (!first) throw new StoreError("INVALID_STATE", "Agent Failure - No agents present to select.");
    if (this.#index === -1 && first.id === initialAgent?.id && hasTakenTurn(first, history)) this.#index = 0;
    // The list may have become shorter.
    this.#index = (this.#index + 1) % agents.length;
    return agents[this.#index] ?? first;
  }

  reset(): void {
    this.#index = -1;
  }

  serialize(): number {
    return this.#index;
  }

  /** @throws StoreError `INVALID_STATE` for a value that `serialize` did not return. */
  restore(position: unknown): void {
    if (!Number.isSafeInteger(position) || (position as number) < -1) {
      throw new StoreError("INVALID_STATE", "selection: position must be an integer, at least -1");
    }
    this.#index = position as number;
  }
}

/** Whether a message of the agent is in the history. */
export function hasTakenTurn(agent: ChatParticipant, history: readonly ChatMessage[]): boolean {
  const name = nameOf(agent);
  return history.some(({ role, authorName }) => role !== "user" && authorName === name);
}
