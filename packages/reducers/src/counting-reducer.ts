import { type ChatMessage, isBoolean, isPositiveInteger, untilAborted } from "@scrollback/store-core";
import { cutsExchange, isToolContent } from "./exchanges.ts";
import { type ChatReducer, checkReduce, checkSettings, type ReduceOptions } from "./reducer.ts";

/** What {@link MessageCountingReducer} takes. */
export interface MessageCountingOptions {
  /** How many messages stay beside the system message. A whole number from 1 on. */
  targetCount: number;
  /** Keep messages of tool calls and results, and count them like others. Default false: they are dropped. */
  keepToolMessages?: boolean;
}

/**
 * Keeps the newest `targetCount` messages, and in front of them the first system message, which is not counted. Later
 * system messages are dropped, and so is whatever belongs to the use of tools, also under the limit. Works as the reducer of
 * this name in Microsoft.Extensions.AI.
 *
 * With `keepToolMessages` the tail that is kept never begins between a tool call and its result: it is shorter then, down
 * to nothing where the newest exchange alone has more than `targetCount` messages.
 *
 * @throws StoreError `INVALID_ARGUMENT` for a wrong or unknown option.
 * @example
 * const reducer = new MessageCountingReducer({ targetCount: 20 });
 * const short = await reducer.reduce(messages);
 */
export class MessageCountingReducer implements ChatReducer {
  /** What it was made with, defaults filled in. Two reducers with equal settings do the same. */
  readonly settings: Readonly<Required<MessageCountingOptions>>;

  constructor(options: MessageCountingOptions) {
    const required = { targetCount: isPositiveInteger };
    checkSettings("MessageCountingReducer", options, required, { keepToolMessages: isBoolean });
    const { targetCount, keepToolMessages = false } = options;
    this.settings = Object.freeze({ targetCount, keepToolMessages });
  }

  async reduce<M extends ChatMessage>(messages: readonly M[], options?: ReduceOptions): Promise<M[]> {
    checkReduce("MessageCountingReducer", messages, options);
    return await untilAborted(async () => this.#newest(messages), options?.signal);
  }

  #newest<M extends ChatMessage>(messages: readonly M[]): M[] {
    const system = messages.filter(({ role }) => role === "system").slice(0, 1);
    const others = messages.filter(
      (message) => message.role !== "system" && (this.settings.keepToolMessages || !isToolContent(message)),
    );
    const cuts = cutsExchange(others);
    let start = Math.max(0, others.length - this.settings.targetCount);
    while (cuts[start]) start++;
    return [...system, ...others.slice(start)];
  }
}
