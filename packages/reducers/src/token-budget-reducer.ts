import { type ChatMessage, StoreError } from "@scrollback/store-core";
import { checkOptions, invalid } from "@scrollback/store-core/driver";
import { isFunction, isPositiveInteger, untilAborted } from "@scrollback/store-core/internal";
import { answersEarlier, cutsExchange, isQuestion } from "./exchanges.ts";
import { type ChatReducer, checkReduce, type ReduceOptions } from "./reducer.ts";

/** Options of {@link TokenBudgetReducer}. */
export interface TokenBudgetOptions {
  /** The maximum number of tokens to keep, a positive integer. */
  maxTokens: number;
  /**
   * Returns the tokens of these messages together, or a promise of it: a non-negative number that must not fall when
   * messages are added in front. Called O(log n) times for n messages.
   */
  countTokens: (messages: readonly ChatMessage[]) => number | Promise<number>;
}

/**
 * Keeps the newest messages whose tokens fit `maxTokens`, with a leading system message. The kept part begins at a user
 * message if there is one, and never separates a tool call from its result. Without user messages the newest messages that
 * fit are kept, not beginning at a tool result. Serves the purpose of `trimMessages` of LangChain.
 *
 * Rejects with `TOO_LARGE` if even the newest turn, or the system message, does not fit.
 *
 * @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option.
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
    const checks = { maxTokens: isPositiveInteger, countTokens: isFunction };
    checkOptions("TokenBudgetReducer", options, checks, ["maxTokens", "countTokens"]);
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
        `maxTokens: the newest turn with the system message has more than ${this.#maxTokens} tokens; raise maxTokens or shorten the messages`,
      );
    }
    // The newest start fits. Every start from `fitting` on does; none before `low` does.
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
      invalid("TokenBudgetReducer: result of countTokens() must be a non-negative number");
    }
    return tokens <= this.#maxTokens;
  }
}

/** The indexes where the kept part may begin, oldest first. */
function startsIn(messages: readonly ChatMessage[], leading: number): number[] {
  const cuts = cutsExchange(messages);
  const where = (may: (message: ChatMessage) => boolean) =>
    messages.flatMap((message, index) => (index >= leading && !cuts[index] && may(message) ? [index] : []));
  const questions = where(isQuestion);
  return questions.length > 0 ? questions : where((message) => !answersEarlier(message));
}
