import {
  type ChatMessage,
  type Check,
  checkOptions,
  hasMethods,
  invalid,
  isBoolean,
  isFunction,
  isString,
  StoreError,
} from "@scrollback/store-core";
import type { LanguageModel } from "ai";
import type { HistoryReducer } from "../../agent/index.ts";
import { type ChatParticipant, nameOf } from "../participant.ts";
import { askModel, isModel, tellHistory } from "./model-choice.ts";
import type { SelectionOptions, SelectionStrategy } from "./selection.ts";

/** What a {@link ModelSelection} is made of. */
export interface ModelSelectionOptions {
  /** Who is asked. */
  model: LanguageModel;
  /** The model's instructions. Behind them it is given the agents' names and the history. Default: to answer with one name. */
  prompt?: string;
  /** Shortens what the model sees of the history. */
  historyReducer?: HistoryReducer;
  /** Of the history give the model who spoke, not what. Default false. */
  namesOnly?: boolean;
  /** The agent's name in the model's answer; undefined or blank for none. Default: the answer, without quotes and full stop. */
  parseResult?: (answer: string) => string | undefined;
  /** Whether the chat's `initialAgent` speaks where the answer names nobody. Default false: that is an error. */
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
 * Lets a model say who speaks next.
 *
 * @example
 * new AgentGroupChat({ agents, selection: new ModelSelection({ model: "openai/gpt-5-mini" }) });
 */
export class ModelSelection implements SelectionStrategy {
  readonly #options: ModelSelectionOptions;

  /** @throws StoreError `INVALID_ARGUMENT` for a wrong or unknown option. */
  constructor(options: ModelSelectionOptions) {
    checkOptions("ModelSelection", options ?? {}, optionChecks);
    if (options?.model === undefined) invalid("ModelSelection: model is missing");
    this.#options = { ...options };
  }

  /** @throws StoreError `NOT_FOUND` when the answer names nobody and there is no fallback; what the model throws. */
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
    const said = await tellHistory(history, this.#options, signal);
    const names = agents.map(nameOf).join("\n");
    const answer = await askModel(model, prompt, `Agents:\n${names}\n\nHistory:\n${said}`, signal);
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
