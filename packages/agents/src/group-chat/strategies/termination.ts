import type { ChatMessage } from "@scrollback/store-core";
import { type Check, checkOptions, hasMethods, invalid, isOneOf } from "@scrollback/store-core/driver";
import { checkValue, untilAborted } from "@scrollback/store-core/internal";
import { textOf } from "../../agent/model-messages.ts";
import { type ChatParticipant, isParticipant } from "../participant.ts";

/** Decides after a turn whether the chat is complete. */
export interface TerminationStrategy {
  /** Asked only after turns of these agents; others never complete the chat. Default, and with an empty list: all. */
  readonly agents?: readonly ChatParticipant[] | undefined;
  /** `agent` took the last turn; the history is oldest first. */
  shouldTerminate(
    agent: ChatParticipant,
    history: readonly ChatMessage[],
    options: { signal?: AbortSignal },
  ): Promise<boolean>;
}

/** A strategy, or a function that receives the agent of the last turn and the history, oldest first. */
export type Termination =
  | TerminationStrategy
  | ((agent: ChatParticipant, history: readonly ChatMessage[]) => boolean | Promise<boolean>);

/** The option that the built-in strategies share. */
export interface TerminationScope {
  /** See {@link TerminationStrategy.agents}. */
  agents?: readonly ChatParticipant[];
}

/** A list of participants. */
export const isParticipantList: Check = (value) => {
  if (!Array.isArray(value)) return "must be an array of agents";
  const index = value.findIndex((one) => isParticipant(one) !== undefined);
  return index === -1 ? undefined : `[${index}] ${isParticipant(value[index])}`;
};

/** A termination. */
export const isTermination: Check = (value) => {
  if (typeof value === "function") return undefined;
  if (hasMethods("shouldTerminate")(value)) {
    return "must be a function, or an object with the method shouldTerminate";
  }
  const { agents } = value as TerminationStrategy;
  const problem = agents === undefined ? undefined : isParticipantList(agents);
  return problem && `.agents ${problem}`;
};

const scopeChecks = Object.freeze({ agents: isParticipantList });

/** Asks a termination if the agent is in its scope. @throws what it throws. */
export async function askTermination(
  termination: Termination,
  agent: ChatParticipant,
  history: readonly ChatMessage[],
  options: { signal?: AbortSignal },
): Promise<boolean> {
  if (typeof termination === "function") {
    return (await untilAborted(async () => await termination(agent, [...history]), options.signal)) === true;
  }
  const { agents = [] } = termination;
  if (agents.length > 0 && !agents.some(({ id }) => id === agent.id)) return false;
  const answer = untilAborted(
    async () => await termination.shouldTerminate(agent, [...history], options),
    options.signal,
  );
  return (await answer) === true;
}

/**
 * Completes the chat when the text of the last message matches one of the patterns. A pattern may be a string.
 *
 * @example
 * new RegexTermination([/\bapproved\b/i], { agents: [reviewer] });
 */
export class RegexTermination implements TerminationStrategy {
  readonly agents: readonly ChatParticipant[] | undefined;
  readonly #patterns: readonly RegExp[];

  /** @throws StoreError `INVALID_ARGUMENT` for missing or invalid patterns, and a wrong or unknown option. */
  constructor(patterns: RegExp | string | readonly (RegExp | string)[], options: TerminationScope = {}) {
    checkOptions("RegexTermination", options, scopeChecks);
    const list: readonly unknown[] = Array.isArray(patterns) ? patterns : [patterns];
    if (list.length === 0) invalid("RegexTermination: patterns must not be empty");
    this.#patterns = list.map((pattern, index) => toPattern(pattern, index));
    this.agents = options.agents;
  }

  async shouldTerminate(_agent: ChatParticipant, history: readonly ChatMessage[]): Promise<boolean> {
    const last = history.at(-1);
    if (!last) return false;
    const text = textOf(last.content);
    // `search` ignores `lastIndex` of a global pattern.
    return this.#patterns.some((pattern) => text.search(pattern) !== -1);
  }
}

function toPattern(pattern: unknown, index: number): RegExp {
  if (pattern instanceof RegExp) return pattern;
  const problem = `RegexTermination: patterns[${index}] must be a regular expression, or the source of one`;
  if (typeof pattern !== "string" || pattern === "") return invalid(problem);
  try {
    return new RegExp(pattern);
  } catch {
    return invalid(problem);
  }
}

/**
 * Several terminations as one. All are asked, each within its own scope. `"all"` (default): each must agree. `"any"`: one
 * is enough.
 */
export class AggregateTermination implements TerminationStrategy {
  readonly agents: readonly ChatParticipant[] | undefined;
  readonly #terminations: readonly Termination[];
  readonly #condition: "all" | "any";

  /** @throws StoreError `INVALID_ARGUMENT` for missing or invalid terminations, and a wrong or unknown option. */
  constructor(
    terminations: readonly Termination[],
    condition: "all" | "any" = "all",
    options: TerminationScope = {},
  ) {
    checkOptions("AggregateTermination", options, scopeChecks);
    if (!Array.isArray(terminations) || terminations.length === 0) {
      invalid("AggregateTermination: terminations must be a non-empty array");
    }
    for (const [index, termination] of terminations.entries())
      checkValue("AggregateTermination", `terminations[${index}]`, isTermination, termination);
    checkValue("AggregateTermination", "condition", isOneOf("all", "any"), condition);
    this.#terminations = [...terminations];
    this.#condition = condition;
    this.agents = options.agents;
  }

  async shouldTerminate(
    agent: ChatParticipant,
    history: readonly ChatMessage[],
    options: { signal?: AbortSignal } = {},
  ): Promise<boolean> {
    const answers = await Promise.all(
      this.#terminations.map((termination) => askTermination(termination, agent, history, options)),
    );
    return this.#condition === "all" ? answers.every(Boolean) : answers.some(Boolean);
  }
}
