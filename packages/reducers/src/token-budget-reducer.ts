import {
  type ChatMessage,
  invalid,
  isFunction,
  isPositiveInteger,
  StoreError,
  untilAborted,
} from "@scrollback/store-core";
import { answersEarlier, cutsExchange, isQuestion } from "./exchanges.ts";
import { type ChatReducer, checkReduce, checkSettings, type ReduceOptions } from "./reducer.ts";

/** What {@link TokenBudgetReducer} takes. */
export interface TokenBudgetOptions {
  /** So many tokens may be kept. A whole number from 1 on. */
  maxTokens: number;
  /**
   * How many tokens these messages cost together, or a promise of it: a number from 0 on, that never falls when messages
   * are added in front. It is called O(log n) times for n messages.
   */
  countTokens: (messages: readonly ChatMessage[]) => number | Promise<number>;
}

/**
 * Keeps the newest messages whose tokens fit `maxTokens`, together with a leading system message. What is kept begins at
 * a user's message where there is one, and parts no tool call from its result. In a history without user messages the
 * newest that fit are kept, not beginning at a tool result. For what `trimMessages` of LangChain is used for.
 *
 * Rejects with `TOO_LARGE` where even the newest turn, or the system message, does not fit.
 *
 * @throws StoreError `INVALID_ARGUMENT` for a wrong or unknown option.
 * @example
 * const reducer = new TokenBudgetReducer({
 *   maxTokens: 8_000,
 *   countTokens: (messages) => Math.ceil(JSON.stringify(messages).length / 4),
 * });
 * const short = await reducer.reduce(messages);
 */
export class TokenBudgetReducer implements ChatReducer {
  readonly #maxTokens: number;
  readonly #countTokens: TokenBudgetOptions["countTokens"];

  constructor(options: TokenBudgetOptions) {
    checkSettings("TokenBudgetReducer", options, { maxTokens: isPositiveInteger, countTokens: isFunction });
    this.#maxTokens = options.maxTokens;
    this.#countTokens = options.countTokens;
  }

  async reduce<M extends ChatMessage>(messages: readonly M[], options?: ReduceOptions): Promise<M[]> {
    checkReduce("TokenBudgetReducer", messages, options);
    const signal = options?.signal;
    return await untilAborted(() => this.#newestThatFit(messages, signal), signal);
  }

  async #newestThatFit<M extends ChatMessage>(
    messages: readonly M[],
    signal: AbortSignal | undefined,
  ): Promise<M[]> {
    const leading = messages[0]?.role === "system" ? 1 : 0;
    const keptFrom = (start: number) => [...messages.slice(0, leading), ...messages.slice(start)];
    const starts = startsIn(messages, leading);
    const newest = starts.at(-1) ?? messages.length;
    const smallest = keptFrom(newest);
    if (smallest.length > 0 && !(await this.#fits(smallest))) {
      throw new StoreError(
        "TOO_LARGE",
        `maxTokens: the newest turn with the system message costs more than ${this.#maxTokens} tokens; raise maxTokens or shorten them`,
      );
    }
    // The newest start fits. Every start from `fitting` on does, none before `low`.
    let low = 0;
    let fitting = Math.max(0, starts.length - 1);
    while (low < fitting && !signal?.aborted) {
      const middle = Math.floor((low + fitting) / 2);
      if (await this.#fits(keptFrom(starts[middle] ?? newest))) fitting = middle;
      else low = middle + 1;
    }
    return keptFrom(starts[fitting] ?? newest);
  }

  async #fits(messages: readonly ChatMessage[]): Promise<boolean> {
    const tokens = await this.#countTokens(messages);
    if (typeof tokens !== "number" || !(tokens >= 0)) {
      invalid("TokenBudgetReducer: countTokens must return a number from 0 on");
    }
    return tokens <= this.#maxTokens;
  }
}

/** The places where what is kept may begin, oldest first. */
function startsIn(messages: readonly ChatMessage[], leading: number): number[] {
  const cuts = cutsExchange(messages);
  const where = (may: (message: ChatMessage) => boolean) =>
    messages.flatMap((message, index) => (index >= leading && !cuts[index] && may(message) ? [index] : []));
  const questions = where(isQuestion);
  return questions.length > 0 ? questions : where((message) => !answersEarlier(message));
}
