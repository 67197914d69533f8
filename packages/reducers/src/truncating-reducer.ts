import type { ChatMessage } from "@scrollback/store-core";
import { checkOptions } from "@scrollback/store-core/driver";
import { isCount, isPositiveInteger, untilAborted } from "@scrollback/store-core/internal";
import { cutsExchange, isQuestion } from "./exchanges.ts";
import { type ChatReducer, checkReduce, type ReduceOptions } from "./reducer.ts";

/** Options of {@link TruncatingReducer}. */
export interface TruncatingOptions {
  /** The number of messages to keep, including the system message. A positive integer. */
  targetCount: number;
  /**
   * The number of messages by which a history may exceed `targetCount` before it is cut, and the number of additional messages
   * that may be kept so that the kept part begins at a user message. A non-negative integer. Default 0.
   */
  threshold?: number;
}

/**
 * Cuts a history of more than `targetCount + threshold` messages to the newest `targetCount`; a shorter one is returned
 * unchanged. The first system message is kept and counted, except for `targetCount` 1, where it is kept in addition to the
 * newest message. Works like the truncation of Semantic Kernel.
 *
 * More messages are kept only as needed to keep each tool call with its result, and then, within `threshold` more messages,
 * to begin at a user message.
 *
 * @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option.
 * @example
 * const reducer = new TruncatingReducer({ targetCount: 50, threshold: 10 });
 * const short = await reducer.reduce(messages);
 */
export class TruncatingReducer implements ChatReducer {
  /** The options with defaults. Two reducers with equal settings do the same. */
  readonly settings: Readonly<Required<TruncatingOptions>>;

  constructor(options: TruncatingOptions) {
    const checks = { targetCount: isPositiveInteger, threshold: isCount };
    checkOptions("TruncatingReducer", options, checks, ["targetCount"]);
    const { targetCount, threshold = 0 } = options;
    this.settings = Object.freeze({ targetCount, threshold });
  }

  async reduce<M extends ChatMessage>(messages: readonly M[], options?: ReduceOptions): Promise<M[]> {
    checkReduce("TruncatingReducer", messages, options);
    return await untilAborted(async () => this.#truncate(messages), options?.signal);
  }

  #truncate<M extends ChatMessage>(messages: readonly M[]): M[] {
    if (messages.length <= this.settings.targetCount + this.settings.threshold) return [...messages];
    const system = messages.findIndex(({ role }) => role === "system");
    const newest = messages.length - this.settings.targetCount;
    const isApart = system >= 0 && system < newest;
    const start = this.#startFrom(messages, isApart && this.settings.targetCount > 1 ? newest + 1 : newest);
    const front = system >= 0 && system < start ? messages.slice(system, system + 1) : [];
    return [...front, ...messages.slice(start)];
  }

  /** The index where the kept part starts if it should start at `start`. */
  #startFrom(messages: readonly ChatMessage[], start: number): number {
    const cuts = cutsExchange(messages);
    let whole = start;
    while (cuts[whole]) whole--;
    for (let place = whole; place >= start - this.settings.threshold; place--) {
      const message = messages[place];
      if (message && isQuestion(message) && !cuts[place]) return place;
    }
    return whole;
  }
}
