import type { ChatMessage } from "@scrollback/store-core";
import { isWhole } from "../agent/exchange.ts";
import { textOf } from "../agent/model-messages.ts";
import { checkMessages } from "../thread/check-messages.ts";
import type { ChannelMessage, ChannelPart } from "./channels/channel.ts";
import { hasToolContent } from "./channels/said.ts";
import { attributed, type ChatParticipant, copyOf, nameOf } from "./participant.ts";

/** What is said in a chat, while it is said: a piece of text with who says it, then the message that it is of. */
export type ChatStreamPart =
  | { readonly type: "text-delta"; readonly text: string; readonly authorName: string }
  | { readonly type: "message"; readonly message: ChatMessage };

/** What the methods of a chat take. */
export interface ChatOptions {
  /** Cancels the call, which then rejects with `ABORTED`. What was said before stays. */
  readonly signal?: AbortSignal;
}

/** How a turn is to be taken. */
export interface TurnOptions extends ChatOptions {
  /** Whether pieces of text are wanted. The history is then updated when the turn ends. */
  readonly streams: boolean;
}

/** Writes messages into the history. `isAnswer`: the turn could end behind them. */
type Keep = (messages: readonly ChatMessage[], isAnswer: boolean) => Promise<void>;

/**
 * What an agent says in one turn, on its way from its channel into the history and out to who invoked it. Without
 * streaming a message is kept as soon as no tool call is open, so a crash never leaves a call without its result; with
 * streaming all is kept when the stream ends. A message is given once it is kept.
 */
export class Turn {
  readonly #agent: ChatParticipant;
  readonly #streams: boolean;
  readonly #keep: Keep;
  /** What is not kept yet. */
  #open: ChannelMessage[] = [];
  /** Messages as they entered, by what the channel gave. */
  readonly #entered = new Map<ChatMessage, ChatMessage>();
  /** Whether pieces of the message to come were given. */
  #isPieced = false;

  constructor(agent: ChatParticipant, streams: boolean, keep: Keep) {
    this.#agent = agent;
    this.#streams = streams;
    this.#keep = keep;
  }

  /** Takes what the channel gives, and gives what who invoked the agent is to see of it. */
  async *take(part: ChannelPart): AsyncGenerator<ChatStreamPart, void, void> {
    if ("message" in part) yield* this.#takeMessage(part);
    else {
      this.#isPieced = true;
      yield { type: "text-delta", text: part.text, authorName: part.authorName ?? nameOf(this.#agent) };
    }
  }

  async *#takeMessage({ message: given, visible, isAnswer }: ChannelMessage): AsyncGenerator<ChatStreamPart> {
    const known = this.#entered.get(given);
    if (known) {
      const open = this.#open.findIndex(({ message }) => message === known);
      if (open !== -1) this.#open[open] = { message: known, visible };
      else if (visible) yield { type: "message", message: copyOf(known) };
      return;
    }
    checkMessages(`agent "${this.#agent.id}": what it says`, [given]);
    const message = attributed(given, this.#agent);
    if (message.role === "system") return;
    this.#entered.set(given, message);
    this.#open.push({ message, visible });
    const text = textOf(message.content);
    if (this.#streams && visible && !this.#isPieced && text !== "") {
      yield { type: "text-delta", text, authorName: message.authorName ?? nameOf(this.#agent) };
    }
    this.#isPieced = false;
    const isClosed = isWhole(this.#open.map((one) => one.message));
    if (!this.#streams && isClosed) yield* this.#flush(isAnswer ?? !hasToolContent(message));
  }

  /** Keeps the rest: the turn came to its end. */
  async *end(): AsyncGenerator<ChatStreamPart, void, void> {
    if (this.#open.length > 0) yield* this.#flush(true);
  }

  async *#flush(isAnswer: boolean): AsyncGenerator<ChatStreamPart, void, void> {
    const said = this.#open;
    this.#open = [];
    await this.#keep(
      said.map(({ message }) => message),
      isAnswer,
    );
    for (const { message, visible } of said) if (visible) yield { type: "message", message: copyOf(message) };
  }
}
