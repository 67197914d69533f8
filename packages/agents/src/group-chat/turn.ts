import type { ChatMessage } from "@scrollback/store-core";
import { isWhole } from "../agent/exchange.ts";
import { textOf } from "../agent/model-messages.ts";
import { checkMessages, hasToolContent } from "../messages.ts";
import {
  attributed,
  type ChannelMessage,
  type ChannelPart,
  type ChatParticipant,
  copyOf,
  nameOf,
} from "./participant.ts";

/** A piece of a text with its author, or the complete message that the pieces belong to. */
export type ChatStreamPart =
  | { readonly type: "text-delta"; readonly text: string; readonly authorName: string }
  | { readonly type: "message"; readonly message: ChatMessage };

/** Options of a chat's methods. */
export interface ChatOptions {
  /** Cancels the call, which then rejects with `ABORTED`. Earlier messages stay. */
  readonly signal?: AbortSignal;
}

/** Options of a turn. */
export interface TurnOptions extends ChatOptions {
  /** Whether to yield pieces of text. The history is then updated when the turn ends. */
  readonly streams: boolean;
}

/** Writes messages into the history. `isAnswer`: the turn may end after them. */
type Keep = (messages: readonly ChatMessage[], isAnswer: boolean) => Promise<void>;

/**
 * Moves the messages of one turn from the agent's channel into the history and to the caller. Without streaming a message
 * is stored as soon as no tool call is open, so a crash never leaves a call without its result. With streaming all are
 * stored when the stream ends. A message is yielded after it is stored.
 */
export class Turn {
  readonly #agent: ChatParticipant;
  readonly #streams: boolean;
  readonly #keep: Keep;
  /** The messages that are not stored yet. */
  #open: ChannelMessage[] = [];
  /** The messages as they entered the history, by the channel's object. */
  readonly #entered = new Map<ChatMessage, ChatMessage>();
  /** Whether pieces of the next message were yielded. */
  #isPieced = false;

  constructor(agent: ChatParticipant, streams: boolean, keep: Keep) {
    this.#agent = agent;
    this.#streams = streams;
    this.#keep = keep;
  }

  /** Takes a part from the channel and yields the parts visible to the caller. */
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
    checkMessages(`agent "${this.#agent.id}": message`, [given]);
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

  /** Stores the rest at the end of the turn. */
  async *end(): AsyncGenerator<ChatStreamPart, void, void> {
    if (this.#open.length > 0) yield* this.#flush(true);
  }

  async *#flush(isAnswer: boolean): AsyncGenerator<ChatStreamPart, void, void> {
    const flushed = this.#open;
    this.#open = [];
    await this.#keep(
      flushed.map(({ message }) => message),
      isAnswer,
    );
    for (const { message, visible } of flushed)
      if (visible) yield { type: "message", message: copyOf(message) };
  }
}
