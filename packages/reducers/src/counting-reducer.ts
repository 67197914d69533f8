import type { ChatMessage } from "@scrollback/store-core";
import { checkOptions } from "@scrollback/store-core/driver";
import { isBoolean, isPositiveInteger, untilAborted } from "@scrollback/store-core/internal";
import { cutsExchange, toolUseIn } from "./exchanges.ts";
import { type ChatReducer, checkReduce, type ReduceOptions } from "./reducer.ts";

/** Options of {@link MessageCountingReducer}. */
export interface MessageCountingOptions {
  /** The number of messages to keep besides the system message, a positive integer. */
  targetCount: number;
  /** Keeps messages of tool calls and results, and counts them like others. Default false: they are dropped. */
  keepToolMessages?: boolean;
}

/**
 * Keeps the newest `targetCount` messages after the first system message, which is not counted. Drops later system messages
 * and all tool messages, also below the limit. Works like the reducer of this name in Microsoft.Extensions.AI.
 *
 * With `keepToolMessages` the kept messages never start between a tool call and its result. They are then fewer, possibly
 * none if the newest exchange alone has more than `targetCount` messages.
 *
 * @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option.
 * @example
 * const reducer = new MessageCountingReducer({ targetCount: 20 });
 * const short = await reducer.reduce(messages);
 */
export class MessageCountingReducer implements ChatReducer {
  /** The options with defaults. Two reducers with equal settings do the same. */
  readonly settings: Readonly<Required<MessageCountingOptions>>;

  constructor(options: MessageCountingOptions) {
    const checks = { targetCount: isPositiveInteger, keepToolMessages: isBoolean };
    checkOptions("MessageCountingReducer", options, checks, ["targetCount"]);
    const { targetCount, keepToolMessages = false } = options;
    this.settings = Object.freeze({ targetCount, keepToolMessages });
  }

  async reduce<M extends ChatMessage>(messages: readonly M[], options?: ReduceOptions): Promise<M[]> {
    checkReduce("MessageCountingReducer", messages, options);
    return await untilAborted(async () => this.#newest(messages), options?.signal);
  }

  #newest<M extends ChatMessage>(messages: readonly M[]): M[] {
    const system = messages.filter(({ role }) => role === "system").slice(0, 1);
    const isDropped = this.settings.keepToolMessages ? [] : toolUseIn(messages);
    const others = messages.filter(({ role }, index) => role !== "system" && !isDropped[index]);
    const cuts = cutsExchange(others);
    let start = Math.max(0, others.length - this.settings.targetCount);
    while (cuts[start]) start++;
    return [...system, ...others.slice(start)];
  }
}
