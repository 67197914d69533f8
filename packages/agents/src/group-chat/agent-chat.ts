import { type ChatMessage, type MessageStore, StoreError } from "@scrollback/store-core";
import { checkOptions, hasMethods, invalid } from "@scrollback/store-core/driver";
import { checkValue, isSignal, untilAborted } from "@scrollback/store-core/internal";
import { checkMessages } from "../messages.ts";
import { abortable } from "./channels/abortable.ts";
import { Channels } from "./channels/channels.ts";
import {
  type ChatProgress,
  type ChatState,
  checkPresent,
  type OpenTurn,
  parseChatState,
} from "./chat-state.ts";
import { type ChannelPart, type ChatParticipant, copyOf, isParticipant, typeOf } from "./participant.ts";
import { Transcript } from "./transcript.ts";
import { type ChatOptions, type ChatStreamPart, Turn, type TurnOptions } from "./turn.ts";

const isStore = hasMethods("commit", "read", "serialize", "updateFromState");
const optionChecks = Object.freeze({ signal: isSignal });

/**
 * Several agents in one conversation: one primary history, and one channel for each kind of agent state. A message from one
 * channel is sent to the others. One operation at a time. Subclasses such as {@link AgentGroupChat} decide which agent
 * takes the next turn.
 */
export abstract class AgentChat {
  readonly #transcript: Transcript;
  readonly #channels = new Channels();
  #isActive = false;
  #undo: (() => Promise<void>) | undefined;
  /** The turn that has begun and is not concluded. Survives a failure, a crash and a restart. */
  protected turn: OpenTurn | undefined;

  protected constructor(store: MessageStore | undefined) {
    const problem = store === undefined ? undefined : isStore(store);
    if (problem) invalid(`${typeOf(this)}: store ${problem}; use stores.open(id) of a store factory`);
    this.#transcript = new Transcript(store);
  }

  /** In joining order. */
  abstract get agents(): readonly ChatParticipant[];
  /** Whether the chat is complete. With a `store` the value is known after the first call. */
  abstract get isComplete(): boolean;
  /** Lets agents take turns, or one given agent take one. Yields their visible messages, each after it is in the history. */
  abstract invoke(agent?: ChatParticipant, options?: ChatOptions): AsyncGenerator<ChatMessage, void, void>;
  /**
   * Like {@link invoke}, but yields the pieces of each text. The history is updated when a turn's stream ends; then its
   * messages are yielded.
   */
  abstract invokeStream(
    agent?: ChatParticipant,
    options?: ChatOptions,
  ): AsyncGenerator<ChatStreamPart, void, void>;

  /** Returns the data that is stored with the messages, in the same commit. */
  protected abstract saveProgress(): Omit<ChatProgress, "turn">;
  /** Receives what {@link saveProgress} returned; undefined for a new chat. */
  protected abstract loadProgress(progress: Omit<ChatProgress, "turn"> | undefined): void;

  /**
   * Adds messages as one commit and sends them to every channel without waiting. The messages come from users or other
   * outsiders, not from agents of the chat. A message whose id is in the chat is not added again.
   *
   * @throws StoreError `INVALID_ARGUMENT` for an invalid or system message, `CONFLICT` while an agent is active or after
   *   another writer changed the store, and the store's errors.
   */
  async addMessages(messages: readonly ChatMessage[], options: ChatOptions = {}): Promise<void> {
    checkOptions("addMessages", options, optionChecks);
    checkMessages("addMessages: messages", messages);
    const system = messages.findIndex(({ role }) => role === "system");
    if (system !== -1) {
      invalid(`addMessages: messages[${system}]: role must not be "system"; give agents instructions`);
    }
    await this.exclusively(options.signal, async () => {
      const added = messages.filter(({ id }) => id === undefined || !this.#transcript.has(id));
      if (added.length === 0) return;
      const { length } = this.history;
      // A new message after an answer closes that turn.
      await this.#append(added, this.turn?.isAnswered ? undefined : this.turn, options.signal);
      this.#channels.broadcast(this.history.slice(length));
    });
  }

  /**
   * Returns the history, newest first, or an agent's view of it. The view is empty until the agent joins: with its first
   * turn, or with the first turn of an agent that shares its channel.
   *
   * @throws StoreError `CONFLICT` while an agent is active, and the store's errors.
   */
  async getMessages(agent?: ChatParticipant, options: ChatOptions = {}): Promise<ChatMessage[]> {
    checkOptions("getMessages", options, optionChecks);
    if (agent !== undefined) checkValue("getMessages", "agent", isParticipant, agent);
    return await this.exclusively(options.signal, async () => {
      if (!agent) return this.history.map(copyOf).reverse();
      const queue = this.agents.some(({ id }) => id === agent.id) ? this.#channels.find(agent) : undefined;
      if (!queue) return [];
      await untilAborted(() => queue.drain(), options.signal);
      return (await queue.channel.getHistory()).map(copyOf).reverse();
    });
  }

  /** Clears history and channels. The agents stay, and so does other data in the store's thread. */
  async reset(): Promise<void> {
    await this.exclusively(undefined, async () => {
      await this.#write(() => this.#transcript.clear());
      this.turn = undefined;
      this.loadProgress(undefined);
      await this.#channels.reset();
    });
  }

  /** Returns plain JSON for {@link restore}, in any process. @throws what `serialize` of the store or of a channel throws. */
  async serialize(): Promise<ChatState> {
    return await this.exclusively(undefined, async () => {
      // With a store they are rebuilt from the history, and the state holds no message text.
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
   * Continues from the state that {@link serialize} returned. The chat must be unused and have the same agents. After a
   * failure the chat is empty.
   *
   * @throws StoreError `INVALID_STATE` for a foreign state, a used chat or a missing participant; and what the store or a
   *   channel throws.
   */
  async restore(state: unknown): Promise<void> {
    const saved = parseChatState(state);
    await this.exclusively(undefined, async () => {
      if (this.history.length > 0 || this.#channels.size > 0 || this.turn) {
        throw new StoreError(
          "INVALID_STATE",
          "Already in use: restore needs an unused chat; create a new one",
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

  /** Reverts {@link restore} of an inner chat whose outer chat failed to restore. */
  async undoRestore(): Promise<void> {
    await this.exclusively(undefined, () => this.#undoRestore());
  }

  async #undoRestore(): Promise<void> {
    await this.#channels.undoRestore();
    this.#load(undefined);
    await this.#undo?.();
    this.#undo = undefined;
  }

  /** Whether this chat uses the thread that a state describes. Then there is nothing to restore. */
  isAt(state: ChatState): boolean {
    return this.#transcript.isAt(state.history);
  }

  /** Oldest first. */
  protected get history(): readonly ChatMessage[] {
    return this.#transcript.messages;
  }

  /** Runs the single operation that a chat allows at a time, on the stored history. */
  protected async exclusively<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    this.#enter();
    try {
      await this.#open(signal);
      return await work();
    } finally {
      this.#isActive = false;
    }
  }

  /** Like {@link exclusively}, for an operation that yields values. */
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
   * Runs one turn of an agent: brings its channel up to date, adds its messages to the history, and sends them to the other
   * channels. The turn stays open until {@link conclude}.
   */
  protected async *takeTurn(
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

  /** Ends the turn and stores the result. */
  protected async conclude(): Promise<void> {
    await this.#write(() => this.#transcript.save(this.#progress(undefined)));
    this.turn = undefined;
  }

  async #append(
    messages: readonly ChatMessage[],
    turn: OpenTurn | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    await this.#write(() => this.#transcript.append(messages, this.#progress(turn), signal));
    this.turn = turn;
  }

  /** Writes. After a failed write the channels may differ from the thread, so they are rebuilt. */
  async #write(write: () => Promise<void>): Promise<void> {
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
