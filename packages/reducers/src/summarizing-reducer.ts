import type { ChatMessage } from "@scrollback/store-core";
import { checkOptions, isOneOf, isString } from "@scrollback/store-core/driver";
import { isCount, isPositiveInteger, untilAborted } from "@scrollback/store-core/internal";
import { isQuestion, isReasoning, isToolContent, toolUseIn } from "./exchanges.ts";
import { type ChatReducer, checkReduce, type ReduceOptions } from "./reducer.ts";
import { digestsOf, SummaryCache, summaryIn, summaryMessage } from "./summary.ts";
import { isSummaryModel, type SummaryModel, writeSummary } from "./summary-model.ts";

/** Options of {@link SummarizingReducer}. */
export interface SummarizingOptions {
  /** Writes the summaries. */
  model: SummaryModel;
  /** The number of messages to keep unchanged, a positive integer. */
  targetCount: number;
  /**
   * The number of messages by which a history may exceed `targetCount` before it is summarised, and the number of additional
   * messages that may be kept so that the kept part begins at a user's question. A non-negative integer. Default 0.
   */
  threshold?: number;
  /** The instructions for the model. Default {@link SUMMARY_INSTRUCTIONS}. */
  instructions?: string;
  /** What happens when the model fails: its error is thrown (default), or the history is returned unchanged. */
  onFailure?: "throw" | "keep";
}

/** The default instructions for the model. */
export const SUMMARY_INSTRUCTIONS = [
  "Summarise this conversation in at most five sentences, for whoever is going to continue it.",
  "Say what the user and what the assistant each contributed, and what has to be known to go on.",
  "Where it begins with an earlier summary, keep everything important from that.",
  "Do not criticise, speculate or comment. Answer with the summary alone.",
].join(" ");

/**
 * Replaces the older part of a history with a summary by a model, as an assistant message. The first system message stays
 * in front; later ones are dropped. Works like the reducer of this name in Microsoft.Extensions.AI.
 *
 * Each reduction calls the model once, with the earlier summary, if any, and the messages that it does not cover. An earlier
 * summary is found in the history, marked by its `metadata`, or in this reducer's cache of the newest 1,000, for callers that
 * pass the full history each time. So use one reducer, not a new one for each call. Tool calls and results are not summarised.
 *
 * `reduce` rejects with the model's own error, with `UNAVAILABLE` for an empty summary, or returns the history unchanged;
 * see `onFailure`. An aborted signal always rejects with `ABORTED`.
 *
 * @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option.
 * @example
 * const reducer = new SummarizingReducer({ model: openai("gpt-5-mini"), targetCount: 20, threshold: 10 });
 * const short = await reducer.reduce(messages);
 */
export class SummarizingReducer implements ChatReducer {
  readonly #options: Required<SummarizingOptions>;
  readonly #cache = new SummaryCache();

  constructor(options: SummarizingOptions) {
    const checks = {
      model: isSummaryModel,
      targetCount: isPositiveInteger,
      threshold: isCount,
      instructions: isString,
      onFailure: isOneOf("throw", "keep"),
    };
    checkOptions("SummarizingReducer", options, checks, ["model", "targetCount"]);
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
    const isToolUse = toolUseIn(rest);
    const added = rest.slice(0, cut).filter((_, index) => !isToolUse[index]);
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
    if (digest !== undefined) this.#cache.add(digest, text);
    return [...system, summaryMessage(text), ...kept];
  }

  /** The existing summary of a history, the messages that it does not cover, and the digests of their beginnings. */
  #sumUpSoFar(messages: readonly ChatMessage[]) {
    const last = messages.findLastIndex((message) => summaryIn(message) !== undefined);
    const marked = messages[last];
    const unmarked = messages.slice(last + 1).filter(({ role }) => role !== "system");
    const digests = digestsOf(unmarked, marked && summaryIn(marked));
    const cached = this.#cache.find(digests, unmarked.length - this.#options.targetCount);
    if (!cached) return { summary: marked, rest: unmarked, digests };
    const { summary, covered } = cached;
    return {
      summary: summaryMessage(summary),
      rest: unmarked.slice(covered),
      digests: digests.slice(covered),
    };
  }

  /** The index where the kept part begins; 0 if there is nothing to summarise. */
  #cutOf(messages: readonly ChatMessage[]): number {
    const { targetCount, threshold } = this.#options;
    const earliest = messages.length - threshold - targetCount;
    if (earliest <= 0) return 0;
    let cut = messages.length - targetCount;
    const is = (question: (message: ChatMessage) => boolean, index: number) => {
      const message = messages[index];
      return message !== undefined && question(message);
    };
    while (cut > 0 && (is(isToolContent, cut - 1) || is(isReasoning, cut - 1))) cut--;
    for (let place = cut; place >= earliest; place--) if (is(isQuestion, place)) return place;
    return cut;
  }
}
