import {
  type ChatMessage,
  isCount,
  isOneOf,
  isPositiveInteger,
  isString,
  untilAborted,
} from "@scrollback/store-core";
import { isQuestion, isToolContent } from "./exchanges.ts";
import { type ChatReducer, checkReduce, checkSettings, type ReduceOptions } from "./reducer.ts";
import { digestsOf, SummaryMemory, summaryIn, summaryMessage } from "./summary.ts";
import { isSummaryModel, type SummaryModel, writeSummary } from "./summary-model.ts";

/** What {@link SummarizingReducer} takes. */
export interface SummarizingOptions {
  /** Who writes the summaries. */
  model: SummaryModel;
  /** How many messages stay as they are. A whole number from 1 on. */
  targetCount: number;
  /**
   * By how many messages a history may be longer before it is summarised, and by how many the kept part may grow to begin
   * at a user's question. A whole number from 0 on. Default 0.
   */
  threshold?: number;
  /** What the model is asked for. Default {@link SUMMARY_INSTRUCTIONS}. */
  instructions?: string;
  /** What happens when the model fails: its error is thrown (the default), or the history comes back as it was. */
  onFailure?: "throw" | "keep";
}

/** What a model is asked for where `instructions` says nothing else. */
export const SUMMARY_INSTRUCTIONS = [
  "Summarise this conversation in at most five sentences, for whoever is going to continue it.",
  "Say what the user and what the assistant each contributed, and what has to be known to go on.",
  "Where it begins with an earlier summary, keep everything important from that.",
  "Do not criticise, speculate or comment. Answer with the summary alone.",
].join(" ");

/**
 * Replaces the older part of a history by a summary that a model writes, an assistant's message. The first system message
 * stays in front, later ones are dropped. Works as the reducer of this name in Microsoft.Extensions.AI.
 *
 * Each reduction asks the model once, and only for what no earlier summary covers: one that is in the history, where
 * its `metadata` marks it, or one that this reducer remembers (the newest 1,000), for callers that come with the full
 * history each time. So keep one reducer, not one for each call. What belongs to the use of tools is not summarised.
 *
 * `reduce` rejects with the model's own error, with `UNAVAILABLE` for an empty summary, or gives back the history as it was;
 * see `onFailure`. An aborted signal always rejects with `ABORTED`.
 *
 * @throws StoreError `INVALID_ARGUMENT` for a wrong or unknown option.
 * @example
 * const reducer = new SummarizingReducer({ model: openai("gpt-5-mini"), targetCount: 20, threshold: 10 });
 * const short = await reducer.reduce(messages);
 */
export class SummarizingReducer implements ChatReducer {
  readonly #options: Required<SummarizingOptions>;
  readonly #memory = new SummaryMemory();

  constructor(options: SummarizingOptions) {
    const required = { model: isSummaryModel, targetCount: isPositiveInteger };
    const optional = { threshold: isCount, instructions: isString, onFailure: isOneOf("throw", "keep") };
    checkSettings("SummarizingReducer", options, required, optional);
    const { model, targetCount, threshold = 0, instructions = SUMMARY_INSTRUCTIONS } = options;
    this.#options = { model, targetCount, threshold, instructions, onFailure: options.onFailure ?? "throw" };
  }

  async reduce(messages: readonly ChatMessage[], options?: ReduceOptions): Promise<ChatMessage[]> {
    checkReduce("SummarizingReducer", messages, options);
    const signal = options?.signal;
    return await untilAborted(() => this.#reduce(messages, signal), signal);
  }

  async #reduce(messages: readonly ChatMessage[], signal: AbortSignal | undefined): Promise<ChatMessage[]> {
    const system = messages.filter(({ role }) => role === "system").slice(0, 1);
    const { summary, rest, digests } = this.#sumUpSoFar(messages);
    const cut = this.#cutOf(rest);
    const kept = rest.slice(cut);
    const added = rest.slice(0, cut).filter((message) => !isToolContent(message));
    const earlier = summary === undefined ? [] : [summary];
    if (added.length === 0) return [...system, ...earlier, ...kept];
    const { model, instructions, onFailure } = this.#options;
    let text: string;
    try {
      text = await writeSummary(model, { instructions, messages: [...earlier, ...added] }, signal);
    } catch (error) {
      if (onFailure === "throw") throw error;
      return [...messages];
    }
    const digest = digests[cut];
    if (digest !== undefined) this.#memory.remember(digest, text);
    return [...system, summaryMessage(text), ...kept];
  }

  /** The summary there is of a history, what it does not cover, and the digests of what that begins with. */
  #sumUpSoFar(messages: readonly ChatMessage[]) {
    const last = messages.findLastIndex((message) => summaryIn(message) !== undefined);
    const marked = messages[last];
    const unmarked = messages.slice(last + 1).filter(({ role }) => role !== "system");
    const digests = digestsOf(unmarked, marked && summaryIn(marked));
    const recalled = this.#memory.recall(digests, unmarked.length - this.#options.targetCount);
    if (!recalled) return { summary: marked, rest: unmarked, digests };
    const { summary, covered } = recalled;
    return {
      summary: summaryMessage(summary),
      rest: unmarked.slice(covered),
      digests: digests.slice(covered),
    };
  }

  /** Where the part begins that is kept; 0 where there is nothing to summarise. */
  #cutOf(messages: readonly ChatMessage[]): number {
    const { targetCount, threshold } = this.#options;
    const earliest = messages.length - threshold - targetCount;
    if (earliest <= 0) return 0;
    let cut = messages.length - targetCount;
    const is = (question: (message: ChatMessage) => boolean, index: number) => {
      const message = messages[index];
      return message !== undefined && question(message);
    };
    while (cut > 0 && is(isToolContent, cut - 1)) cut--;
    for (let place = cut; place >= earliest; place--) if (is(isQuestion, place)) return place;
    return cut;
  }
}
