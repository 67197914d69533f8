import { type ChatMessage, isCount, isPositiveInteger, untilAborted } from "@scrollback/store-core";
import { cutsExchange, isQuestion } from "./exchanges.ts";
import { type ChatReducer, checkReduce, checkSettings, type ReduceOptions } from "./reducer.ts";

/** What {@link TruncatingReducer} takes. */
export interface TruncatingOptions {
  /** How many messages stay, the system message counted. A whole number from 1 on. */
  targetCount: number;
  /**
   * By how many messages a history may be longer before it is cut, and by how many the kept part may grow to begin at a
   * user's message. A whole number from 0 on. Default 0.
   */
  threshold?: number;
}

/**
 * Cuts a history of more than `targetCount + threshold` messages to the newest `targetCount`; a shorter one comes back as
 * it is. The first system message is kept and counted, but for `targetCount` 1, where it stands beside the newest message.
 * Works as the truncation of Semantic Kernel.
 *
 * More is kept only as far as needed so that no tool call is parted from its result, and then, within `threshold`
 * messages of where the kept part would have begun, to begin at a user's message.
 *
 * @throws StoreError `INVALID_ARGUMENT` for a wrong or unknown option.
 * @example
 * const reducer = new TruncatingReducer({ targetCount: 50, threshold: 10 });
 * const short = await reducer.reduce(messages);
 */
export class TruncatingReducer implements ChatReducer {
  /** What it was made with, defaults filled in. Two reducers with equal settings do the same. */
  readonly settings: Readonly<Required<TruncatingOptions>>;

  constructor(options: TruncatingOptions) {
    checkSettings("TruncatingReducer", options, { targetCount: isPositiveInteger }, { threshold: isCount });
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

  /** Where the kept part starts that is to start at `start`. */
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
