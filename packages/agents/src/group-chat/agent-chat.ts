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
import { checkMessages } from "../thread/check-messages.ts";
import { abortable } from "./channels/abortable.ts";
import type { ChannelPart } from "./channels/channel.ts";
import { Channels } from "./channels/channels.ts";
import {
  type ChatProgress,
  type ChatState,
  checkPresent,
  type OpenTurn,
  parseChatState,
} from "./chat-state.ts";
import { type ChatParticipant, checkParticipant, copyOf, typeOf } from "./participant.ts";
import { Transcript } from "./transcript.ts";
import { type ChatOptions, type ChatStreamPart, Turn, type TurnOptions } from "./turn.ts";

const isStore = hasMethods("commit", "read", "serialize", "updateFromState");
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
  #undo: (() => Promise<void>) | undefined;
  /** The turn that began and has not been concluded; over a failure, a crash and a restart too. */
  protected turn: OpenTurn | undefined;

  protected constructor(store: MessageStore | undefined) {
    const problem = store === undefined ? undefined : isStore(store);
    if (problem) invalid(`${typeOf(this)}: store ${problem}; give one of a factory: stores.open(id)`);
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
      if (!agent) return this.history.map(copyOf).reverse();
      const queue = this.agents.some(({ id }) => id === agent.id) ? this.#channels.find(agent) : undefined;
      if (!queue) return [];
      await untilAborted(() => queue.drain(), options.signal);
      return (await queue.channel.getHistory()).map(copyOf).reverse();
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
      // On a store they are rebuilt from the history, and no message text is in the state.
      const channels = this.#transcript.isStored ? undefined : await this.#channels.serialize();
      return {
        type: "scrollback.groupChat",
        version: 1,
        participants: this.agents.map((agent) => ({
          id: agent.id,
          ...(agent.name !== undefined && { name: agent.name }),
          type: typeOf(agent),
        })),
        history: await this.#transcript.serialize(),
        ...(channels && { channels }),
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
      checkPresent(saved.participants, this.agents);
      const { progress, undo } = await this.#transcript.restore(saved.history);
      this.#undo = undo;
      try {
        this.#load(progress ?? saved);
        await this.#channels.restore(saved.channels ?? [], this.agents);
      } catch (error) {
        await this.#undoRestore();
        throw error;
      }
    });
  }

  /** Takes back what {@link restore} did, of a chat inside another whose own restore failed later. */
  async undoRestore(): Promise<void> {
    await this.exclusively(undefined, () => this.#undoRestore());
  }

  async #undoRestore(): Promise<void> {
    await this.#channels.undoRestore();
    this.#load(undefined);
    await this.#undo?.();
    this.#undo = undefined;
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
    const turn = new Turn(agent, streams, async (messages, isAnswered) => {
      await this.#append(messages, { agent: agent.id, isAnswered }, signal);
    });
    let isOver = false;
    try {
      await untilAborted(() => queue.drain(), signal);
      const { channel } = queue;
      const options = signal ? { signal } : {};
      const parts: AsyncIterable<ChannelPart> =
        streams && channel.invokeStream
          ? channel.invokeStream(agent, options)
          : channel.invoke(agent, options);
      for await (const part of abortable(parts, signal)) yield* turn.take(part);
      yield* turn.end();
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
}
