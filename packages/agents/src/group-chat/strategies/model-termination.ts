import type { ChatMessage } from "@scrollback/store-core";
import { type Check, checkOptions, hasMethods, isString } from "@scrollback/store-core/driver";
import { isFunction } from "@scrollback/store-core/internal";
import type { LanguageModel } from "ai";
import type { HistoryReducer } from "../../agent/history-reducer.ts";
import { type ChatParticipant, nameOf } from "../participant.ts";
import { askModel, isModel, tellHistory } from "./model-choice.ts";
import { isParticipantList, type TerminationScope, type TerminationStrategy } from "./termination.ts";

/** Options of {@link ModelTermination}. */
export interface ModelTerminationOptions extends TerminationScope {
  /** The model that decides. */
  model: LanguageModel;
  /** The model's instructions, followed by the agent of the last turn and the history. */
  prompt?: string;
  /** Shortens the history that the model sees. */
  historyReducer?: HistoryReducer;
  /** Whether the model's answer completes the chat. Default: an answer that begins with yes or true. */
  parseResult?: (answer: string) => boolean;
}

const DEFAULT_PROMPT = `You watch a conversation between several agents. Say whether it has reached what it is for, so that nothing is left to
be said. Answer with yes or no, and nothing else.`;

const optionChecks: Readonly<Record<keyof ModelTerminationOptions, Check>> = Object.freeze({
  model: isModel,
  prompt: isString,
  historyReducer: hasMethods("reduce"),
  parseResult: isFunction,
  agents: isParticipantList,
});

/** Lets a model decide whether the chat is complete. */
export class ModelTermination implements TerminationStrategy {
  readonly agents: readonly ChatParticipant[] | undefined;
  readonly #options: ModelTerminationOptions;

  /** @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option. */
  constructor(options: ModelTerminationOptions) {
    checkOptions("ModelTermination", options, optionChecks, ["model"]);
    this.#options = { ...options };
    this.agents = options.agents;
  }

  /** @throws what the model throws. */
  async shouldTerminate(
    agent: ChatParticipant,
    history: readonly ChatMessage[],
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<boolean> {
    const { model, prompt = DEFAULT_PROMPT, parseResult = isYes } = this.#options;
    const transcript = await tellHistory(history, this.#options, signal);
    const answer = await askModel(
      model,
      prompt,
      `Agent: ${nameOf(agent)}\n\nHistory:\n${transcript}`,
      signal,
    );
    return parseResult(answer) === true;
  }
}

function isYes(answer: string): boolean {
  return /^\W*(yes|true)\b/i.test(answer);
}
