import { type ChatMessage, type Check, hasMethods, StoreError, untilAborted } from "@scrollback/store-core";
import { type ChatParticipant, nameOf } from "../participant.ts";

/** What a selection is told beside agents and history. */
export interface SelectionOptions {
  readonly signal?: AbortSignal;
  /** The chat's `initialAgent`, where it has one. It has spoken, or somebody else has. */
  readonly initialAgent?: ChatParticipant;
}

/** Says who speaks next. */
export interface SelectionStrategy {
  /** One of `agents`, which are in joining order; the history is oldest first. */
  next(
    agents: readonly ChatParticipant[],
    history: readonly ChatMessage[],
    options: SelectionOptions,
  ): Promise<ChatParticipant>;
  /** Begins anew; called when the chat is reset. */
  reset?(): void;
  /** Where the selection stands, as plain JSON: kept with the history, in the commit of what the agent says. */
  serialize?(): unknown;
  /** Takes what `serialize` gave. */
  restore?(position: unknown): void;
}

/** A strategy, or a function of agents and history (oldest first) that returns who speaks next. */
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
 * @throws what the selection throws; StoreError `INVALID_STATE` without agents, `INVALID_ARGUMENT` for an answer that is
 *   none of them.
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

/** Each agent in turn, in joining order, over and over. */
export class SequentialSelection implements SelectionStrategy {
  /** The place of who spoke last; -1 before the first. */
  #index = -1;

  async next(
    agents: readonly ChatParticipant[],
    history: readonly ChatMessage[],
    { initialAgent }: SelectionOptions = {},
  ): Promise<ChatParticipant> {
    const [first] = agents;
    if (!first) throw new StoreError("INVALID_STATE", "Agent Failure - No agents present to select.");
    if (this.#index === -1 && first.id === initialAgent?.id && hasSpoken(first, history)) this.#index = 0;
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

  /** @throws StoreError `INVALID_STATE` for what `serialize` did not give. */
  restore(position: unknown): void {
    if (!Number.isSafeInteger(position) || (position as number) < -1) {
      throw new StoreError("INVALID_STATE", "selection: position must be a whole number from -1 on");
    }
    this.#index = position as number;
  }
}

/** Whether a message of the agent is in the history. */
export function hasSpoken(agent: ChatParticipant, history: readonly ChatMessage[]): boolean {
  const name = nameOf(agent);
  return history.some(({ role, authorName }) => role !== "user" && authorName === name);
}
