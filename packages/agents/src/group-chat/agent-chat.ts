import {
  type ChatMessage,
  checkOptions,
  hasMethods,
  invalid,
  isSignal,
  type MessageStore,
  StoreError,
  untilAborted,
} from "@scrollback/store-core";
import { isWhole } from "../agent/exchange.ts";
import { textOf } from "../agent/model-messages.ts";
import { checkMessages } from "../thread/check-messages.ts";
import { abortable } from "./abortable.ts";
import type { ChannelMessage, ChannelPart } from "./channel.ts";
import { Channels } from "./channels.ts";
import { type ChatProgress, type ChatState, type OpenTurn, parseChatState } from "./chat-state.ts";
import { attributed, type ChatParticipant, checkParticipant, nameOf, typeOf } from "./participant.ts";
import { hasToolContent } from "./said.ts";
import { Transcript } from "./transcript.ts";

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

const optionChecks = Object.freeze({ signal: isSignal });

/**
 * Several agents in one conversation: one primary history, and a channel for each kind of agent state. What is said in one
 * channel goes to the others. One operation at a time. Who speaks when is for those that extend it to say, as
 * {@link AgentGroupChat} does.
 */
export abstract class AgentChat {
  readonly #transcript: Transcript;
  readonly #channels = new Channels();
  #isActive = false;
  /** The turn that began and has not been concluded; over a failure, a crash and a restart too. */
  protected turn: OpenTurn | undefined;

  protected constructor(store: MessageStore | undefined) {
    const problem = store === undefined ? undefined : hasMethods("commit", "read", "serialize")(store);
    if (problem)
      invalid(`${this.constructor.name}: store ${problem}; give a store of a factory: stores.open(id)`);
    this.#transcript = new Transcript(store);
  }

  /** In joining order. */
  abstract get agents(): readonly ChatParticipant[];
  /** Whether the chat came to its end. Of a chat on a store, as far as it has been read: after the first call. */
  abstract get isComplete(): boolean;
  /** Lets agents speak, or one agent; gives their visible messages, each once it is in the history. */
  abstract invoke(agent?: ChatParticipant, options?: ChatOptions): AsyncGenerator<ChatMessage, void, void>;
  /** The same in pieces. The history is updated when a turn's stream ends; its messages are given then. */
  abstract invokeStream(
    agent?: ChatParticipant,
    options?: ChatOptions,
  ): AsyncGenerator<ChatStreamPart, void, void>;

  /** What is kept beside the messages, in the same commit. */
  protected abstract saveProgress(): Omit<ChatProgress, "turn">;
  /** Takes what {@link saveProgress} gave, or nothing for a chat that begins. */
  protected abstract loadProgress(progress: Omit<ChatProgress, "turn"> | undefined): void;

  /**
   * Adds messages of users, or of whoever else is no agent of the chat, as one commit, and sends them to every channel
   * without waiting. A message whose id the chat has is not added again.
   *
   * @throws StoreError `INVALID_ARGUMENT` for what is no message and for system messages, `CONFLICT` while an agent is
   *   active or when another wrote to the store, what the store throws.
   */
  async addMessages(messages: readonly ChatMessage[], options: ChatOptions = {}): Promise<void> {
    checkOptions("addMessages", options, optionChecks);
    if (!Array.isArray(messages)) invalid("addMessages: messages must be a list of messages");
    checkMessages("addMessages: messages", messages);
    const system = messages.findIndex(({ role }) => role === "system");
    if (system !== -1) {
      invalid(`addMessages: messages[${system}]: role must not be "system"; give agents instructions`);
    }
    await this.exclusively(options.signal, async () => {
      const added = messages.filter(({ id }) => id === undefined || !this.#transcript.has(id));
      if (added.length === 0) return;
      const { length } = this.history;
      // Whoever speaks after an answer has moved on from it.
      await this.#append(added, this.turn?.isAnswered ? undefined : this.turn, options.signal);
      this.#channels.broadcast(this.history.slice(length));
    });
  }

  /**
   * The history, newest first; or an agent's view of it, which is empty until it joined, with its first turn or that of an
   * agent that it shares a channel with.
   *
   * @throws StoreError `CONFLICT` while an agent is active, what the store throws.
   */
  async getMessages(agent?: ChatParticipant, options: ChatOptions = {}): Promise<ChatMessage[]> {
    checkOptions("getMessages", options, optionChecks);
    if (agent !== undefined) checkParticipant("getMessages: agent", agent);
    return await this.exclusively(options.signal, async () => {
      if (!agent) return this.history.toReversed();
      const queue = this.agents.some(({ id }) => id === agent.id) ? this.#channels.find(agent) : undefined;
      if (!queue) return [];
      await untilAborted(() => queue.drain(), options.signal);
      return (await queue.channel.getHistory()).toReversed();
    });
  }

  /** Clears history and channels; the agents stay. What the store's thread holds beside the chat stays too. */
  async reset(): Promise<void> {
    await this.exclusively(undefined, async () => {
      await this.#settle(() => this.#transcript.clear());
      this.turn = undefined;
      this.loadProgress(undefined);
      await this.#channels.reset();
    });
  }

  /** Plain JSON for {@link restore}, in any process. @throws what the store's or a channel's `serialize` throws. */
  async serialize(): Promise<ChatState> {
    return await this.exclusively(undefined, async () => {
      const channels = [];
      for (const { channel, agents } of this.#transcript.isStored ? [] : await this.#channels.drained()) {
        if (!channel.serialize) continue;
        channels.push({ key: channel.key, type: typeOf(channel), agents, state: await channel.serialize() });
      }
      return {
        type: "scrollback.groupChat",
        version: 1,
        participants: this.agents.map((agent) => ({
          id: agent.id,
          ...(agent.name !== undefined && { name: agent.name }),
          type: typeOf(agent),
        })),
        history: await this.#transcript.serialize(),
        ...(!this.#transcript.isStored && { channels }),
        ...this.#progress(this.turn),
      };
    });
  }

  /**
   * Goes on from what {@link serialize} gave. The chat must be unused and hold the same agents. On failure it is empty.
   *
   * @throws StoreError `INVALID_STATE` for a foreign state, a used chat, and a participant that is missing; what the
   *   store or a channel throws.
   */
  async restore(state: unknown): Promise<void> {
    const saved = parseChatState(state);
    await this.exclusively(undefined, async () => {
      if (this.history.length > 0 || this.#channels.size > 0 || this.turn) {
        throw new StoreError(
          "INVALID_STATE",
          "Already in use: restore needs a chat in which nothing was said",
        );
      }
      this.#checkPresent(saved.participants);
      const { progress, undo } = await this.#transcript.restore(saved.history);
      try {
        this.#load(progress ?? saved);
        for (const [index, channel] of (saved.channels ?? []).entries()) {
          await this.#channels.restore(channel, this.agents).catch((cause) => {
            const problem = StoreError.is(cause) ? cause.message : "was refused by its channel; see cause";
            throw new StoreError("INVALID_STATE", `state: channels[${index}]: ${problem}`, { cause });
          });
        }
      } catch (error) {
        await this.#channels.reset();
        this.#load(undefined);
        await undo();
        throw error;
      }
    });
  }

  /** Whether this chat stands on the very thread that a state is of: then there is nothing to restore. */
  isAt(state: ChatState): boolean {
    return this.#transcript.isAt(state.history);
  }

  /** Oldest first. */
  protected get history(): readonly ChatMessage[] {
    return this.#transcript.messages;
  }

  /** Runs the one operation that a chat has at a time, on the history as it is stored. */
  protected async exclusively<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    this.#enter();
    try {
      await this.#open(signal);
      return await work();
    } finally {
      this.#isActive = false;
    }
  }

  /** The same for an operation that gives something on its way. */
  protected async *activity<T>(
    signal: AbortSignal | undefined,
    work: () => AsyncGenerator<T, void, void>,
  ): AsyncGenerator<T, void, void> {
    this.#enter();
    try {
      await this.#open(signal);
      yield* work();
    } finally {
      this.#isActive = false;
    }
  }

  /**
   * One turn of an agent: its channel is brought up to date, what it says enters the history, and then goes to the other
   * channels. The turn stays open; {@link conclude} ends it.
   */
  protected async *speak(
    agent: ChatParticipant,
    { signal, streams }: TurnOptions,
  ): AsyncGenerator<ChatStreamPart, void, void> {
    const { length } = this.history;
    this.turn = { agent: agent.id, isAnswered: false };
    const queue = this.#channels.join(agent, this.history);
    const open: ChannelMessage[] = [];
    let isOver = false;
    try {
      await untilAborted(() => queue.drain(), signal);
      const { channel } = queue;
      const options = signal ? { signal } : {};
      const parts: AsyncIterable<ChannelPart> =
        streams && channel.invokeStream
          ? channel.invokeStream(agent, options)
          : channel.invoke(agent, options);
      const seen = new Map<ChatMessage, ChatMessage>();
      let isPieced = false;
      for await (const part of abortable(parts, signal)) {
        if (!("message" in part)) {
          isPieced = true;
          yield { type: "text-delta", text: part.text, authorName: part.authorName ?? nameOf(agent) };
          continue;
        }
        const { visible } = part;
        const known = seen.get(part.message);
        if (known) {
          const index = open.findIndex(({ message }) => message === known);
          if (index !== -1) open[index] = { message: known, visible };
          else if (visible) yield { type: "message", message: known };
          continue;
        }
        const message = this.#heard(part.message, agent);
        if (message.role === "system") continue;
        seen.set(part.message, message);
        open.push({ message, visible });
        const text = textOf(message.content);
        if (streams && visible && !isPieced && text !== "") {
          yield { type: "text-delta", text, authorName: message.authorName ?? nameOf(agent) };
        }
        isPieced = false;
        if (!streams && isWhole(open.map((one) => one.message))) yield* this.#keep(open, false, signal);
      }
      yield* this.#keep(open, true, signal);
      this.turn = { agent: agent.id, isAnswered: true };
      isOver = true;
    } finally {
      if (!isOver) this.#channels.forgetHistory(queue);
      this.#channels.broadcast(this.history.slice(length), queue);
    }
  }

  /** Ends the turn: keeps what came of it. */
  protected async conclude(): Promise<void> {
    await this.#settle(() => this.#transcript.save(this.#progress(undefined)));
    this.turn = undefined;
  }

  #heard(message: unknown, agent: ChatParticipant): ChatMessage {
    const given = [message];
    checkMessages(`agent "${agent.id}": what it says`, given);
    return attributed(given[0] as ChatMessage, agent);
  }

  /** Puts into the history what is open, and gives what of it is visible. */
  async *#keep(
    open: ChannelMessage[],
    isEnd: boolean,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<ChatStreamPart, void, void> {
    const said = open.splice(0);
    const last = said.at(-1);
    if (!last || !this.turn) return;
    const turn = { agent: this.turn.agent, isAnswered: isEnd || !hasToolContent(last.message) };
    const messages = said.map(({ message }) => message);
    await this.#append(messages, turn, signal);
    for (const { message, visible } of said) if (visible) yield { type: "message", message };
  }

  async #append(
    messages: readonly ChatMessage[],
    turn: OpenTurn | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    await this.#settle(() => this.#transcript.append(messages, this.#progress(turn), signal));
    this.turn = turn;
  }

  /** Writes. What the channels hold after a write that failed may not be what the thread holds: they are built anew. */
  async #settle(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.#channels.forget();
      throw error;
    }
  }

  #enter(): void {
    if (this.#isActive) {
      throw new StoreError("CONFLICT", "Unable to proceed while another agent is active.");
    }
    this.#isActive = true;
  }

  async #open(signal: AbortSignal | undefined): Promise<void> {
    const progress = await this.#transcript.open(signal);
    if (progress === undefined) return;
    this.#channels.forget();
    this.#load(progress ?? undefined);
  }

  #load(progress: ChatProgress | undefined): void {
    this.turn = progress?.turn;
    this.loadProgress(progress);
  }

  #progress(turn: OpenTurn | undefined): ChatProgress {
    return { ...this.saveProgress(), ...(turn && { turn }) };
  }

  #checkPresent(participants: ChatState["participants"]): void {
    const missing = participants.filter(
      ({ id, type }) => !this.agents.some((agent) => agent.id === id && typeOf(agent) === type),
    );
    if (missing.length === 0) return;
    const names = missing.map(({ id, name, type }) => `${name ?? id} (${type}, id "${id}")`).join(", ");
    throw new StoreError("INVALID_STATE", `state: participants: missing in this chat: ${names}`);
  }
}
