import { type ChatMessage, StoreError } from "@scrollback/store-core";
import { type Check, checkOptions, hasMethods, isString } from "@scrollback/store-core/driver";
import { isBoolean, isFunction } from "@scrollback/store-core/internal";
import type { LanguageModel } from "ai";
import type { HistoryReducer } from "../../agent/history-reducer.ts";
import { type ChatParticipant, nameOf } from "../participant.ts";
import { askModel, isModel, tellHistory } from "./model-choice.ts";
import type { SelectionOptions, SelectionStrategy } from "./selection.ts";

/** Options of {@link ModelSelection}. */
export interface ModelSelectionOptions {
  /** The model that selects. */
  model: LanguageModel;
  /** The model's instructions, followed by the agents' names and the history. Default: to answer with one name. */
  prompt?: string;
  /** Shortens the history that the model sees. */
  historyReducer?: HistoryReducer;
  /** Gives the model only the names of the authors, not the content. Default false. */
  namesOnly?: boolean;
  /**
   * Extracts the agent's name from the model's answer; undefined or blank for none. Default: the answer without quotes and
   * full stop.
   */
  parseResult?: (answer: string) => string | undefined;
  /** Whether the chat's `initialAgent` takes the turn if the answer names no agent. Default false: it throws. */
  useInitialAgentAsFallback?: boolean;
}

const DEFAULT_PROMPT = `You lead a conversation between several agents. Say who is to speak next, from what was said so far. Answer with the
name of exactly one of the agents, and nothing else.`;

const optionChecks: Readonly<Record<keyof ModelSelectionOptions, Check>> = Object.freeze({
  model: isModel,
  prompt: isString,
  historyReducer: hasMethods("reduce"),
  namesOnly: isBoolean,
  parseResult: isFunction,
  useInitialAgentAsFallback: isBoolean,
});

/**
 * Lets a model select the agent of the next turn.
 *
 * @example
 * new AgentGroupChat({ agents, selection: new ModelSelection({ model: "openai/gpt-5-mini" }) });
 */
export class ModelSelection implements SelectionStrategy {
  readonly #options: ModelSelectionOptions;

  /** @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option. */
  constructor(options: ModelSelectionOptions) {
    checkOptions("ModelSelection", options, optionChecks, ["model"]);
    this.#options = { ...options };
  }

  /** @throws StoreError `NOT_FOUND` when the answer names no agent and there is no fallback; and what the model throws. */
  async next(
    agents: readonly ChatParticipant[],
    history: readonly ChatMessage[],
    { signal, initialAgent }: SelectionOptions = {},
  ): Promise<ChatParticipant> {
    const {
      model,
      prompt = DEFAULT_PROMPT,
      parseResult = plainName,
      useInitialAgentAsFallback,
    } = this.#options;
    const transcript = await tellHistory(history, this.#options, signal);
    const names = agents.map(nameOf).join("\n");
    const answer = await askModel(model, prompt, `Agents:\n${names}\n\nHistory:\n${transcript}`, signal);
    const name = parseResult(answer)?.trim();
    const agent = name ? agents.find((one) => nameOf(one) === name) : undefined;
    if (agent) return agent;
    if (useInitialAgentAsFallback && initialAgent) return initialAgent;
    throw new StoreError(
      "NOT_FOUND",
      name
        ? "Agent Failure - Strategy unable to select next agent: the model named none of the agents"
        : "Agent Failure - Strategy unable to determine next agent: the model gave no name",
    );
  }
}

function plainName(answer: string): string {
  return answer.trim().replace(/^["'`*]+|["'`*.]+$/g, "");
}
