import {
  type ChatMessage,
  type Check,
  checkOptions,
  invalid,
  isBoolean,
  isPositiveInteger,
  isSignal,
  type MessageStore,
  StoreError,
} from "@scrollback/store-core";
import { AgentChat } from "./agent-chat.ts";
import type { ChatProgress } from "./chat-state.ts";
import { type ChatParticipant, checkParticipant, isParticipant } from "./participant.ts";
import {
  hasSpoken,
  isSelection,
  type Selection,
  SequentialSelection,
  select,
} from "./strategies/selection.ts";
import {
  askTermination,
  isParticipantList,
  isTermination,
  type Termination,
} from "./strategies/termination.ts";
import type { ChatOptions, ChatStreamPart, TurnOptions } from "./turn.ts";

/** What an {@link AgentGroupChat} is made of. */
export interface AgentGroupChatOptions {
  /** Who takes part, in joining order. Default: nobody yet. */
  agents?: readonly ChatParticipant[];
  /** Who speaks next. Default: a {@link SequentialSelection}. */
  selection?: Selection;
  /** When the chat has come to its end. Default: never. */
  termination?: Termination;
  /** Speaks first, while no agent of the chat has spoken; joins last where it is none of `agents`. Default: whom the selection says. */
  initialAgent?: ChatParticipant;
  /** How many turns one `invoke` takes at most, a whole number from 1 on. Default 99 with a `termination`, else 1. */
  maximumIterations?: number;
  /** Whether a chat that came to its end goes on when it is invoked again. Default false: that is an error. */
  automaticReset?: boolean;
  /** Where the history is kept: a thread of any store, the chat's alone. Default: in memory. */
  store?: MessageStore;
}

const DEFAULT_ITERATIONS = 99;
const optionChecks: Readonly<Record<keyof AgentGroupChatOptions, Check>> = Object.freeze({
  agents: isParticipantList,
  selection: isSelection,
  termination: isTermination,
  initialAgent: isParticipant,
  maximumIterations: isPositiveInteger,
  automaticReset: isBoolean,
  store: () => undefined,
});
const invokeChecks = Object.freeze({ signal: isSignal });

/**
 * Agents that take turns: a selection says who speaks next, a termination when it is enough. On a `store` each message is
 * committed as it is said, with all that is needed to go on; a chat made on the same store goes on from there.
 *
 * @example
 * const chat = new AgentGroupChat({
 *   agents: [writer, reviewer],
 *   termination: new RegexTermination(/approved/i, { agents: [reviewer] }),
 *   store: stores.open("slogan"),
 * });
 * await chat.addMessages([{ role: "user", content: "A slogan for a bicycle" }]);
 * for await (const { authorName, content } of chat.invoke()) console.log(authorName, content);
 */
export class AgentGroupChat extends AgentChat {
  readonly #agents: ChatParticipant[] = [];
  readonly #selection: Selection;
  readonly #termination: Termination | undefined;
  readonly #initialAgent: ChatParticipant | undefined;
  readonly #maximumIterations: number;
  readonly #automaticReset: boolean;
  #isComplete = false;

  /** Makes no request. @throws StoreError `INVALID_ARGUMENT` for a wrong or unknown option. */
  constructor(options: AgentGroupChatOptions = {}) {
    checkOptions("AgentGroupChat", options, optionChecks);
    super(options.store);
    const { agents = [], selection = new SequentialSelection(), termination, initialAgent } = options;
    for (const agent of agents) this.addAgent(agent);
    if (initialAgent) this.addAgent(initialAgent);
    this.#selection = selection;
    this.#termination = termination;
    this.#initialAgent = initialAgent;
    this.#maximumIterations = options.maximumIterations ?? (termination ? DEFAULT_ITERATIONS : 1);
    this.#automaticReset = options.automaticReset ?? false;
  }

  override get agents(): readonly ChatParticipant[] {
    return [...this.#agents];
  }

  override get isComplete(): boolean {
    return this.#isComplete;
  }

  /**
   * Lets an agent join. One that has joined already changes nothing.
   *
   * @throws StoreError `INVALID_ARGUMENT` for what is no participant, and for the id of another one.
   */
  addAgent(agent: ChatParticipant): void {
    checkParticipant("addAgent: agent", agent);
    const known = this.#agents.find(({ id }) => id === agent.id);
    if (!known) this.#agents.push(agent);
    else if (known !== agent) invalid(`addAgent: agent has the id "${agent.id}", which another agent has`);
  }

  /**
   * Lets agents speak until the termination says that it is enough, or `maximumIterations` turns were taken. A turn that was
   * cut off before (by a crash, a failure, a reader that stopped) is gone on with first. With an `agent`: it joins, and takes
   * one turn, whatever the selection and the limit say; the termination is asked all the same.
   *
   * @throws StoreError `CONFLICT` while an agent is active, `INVALID_STATE` for a chat that came to its end or has no agents,
   *   `UNAVAILABLE` when a channel could not receive what was said before; what agents, strategies and the store throw. What
   *   was said stays in the history.
   */
  override async *invoke(
    agent?: ChatParticipant,
    options: ChatOptions = {},
  ): AsyncGenerator<ChatMessage, void, void> {
    checkOptions("invoke", options, invokeChecks);
    for await (const part of this.#turns("invoke", agent, { ...options, streams: false })) {
      if (part.type === "message") yield part.message;
    }
  }

  override async *invokeStream(
    agent?: ChatParticipant,
    options: ChatOptions = {},
  ): AsyncGenerator<ChatStreamPart, void, void> {
    checkOptions("invokeStream", options, invokeChecks);
    yield* this.#turns("invokeStream", agent, { ...options, streams: true });
  }

  protected override saveProgress(): Omit<ChatProgress, "turn"> {
    const selection = typeof this.#selection === "function" ? undefined : this.#selection.serialize?.();
    return { isComplete: this.#isComplete, ...(selection !== undefined && { selection }) };
  }

  protected override loadProgress(progress: Omit<ChatProgress, "turn"> | undefined): void {
    this.#isComplete = progress?.isComplete ?? false;
    if (typeof this.#selection === "function") return;
    if (progress?.selection === undefined) this.#selection.reset?.();
    else this.#selection.restore?.(progress.selection);
  }

  async *#turns(
    caller: string,
    agent: ChatParticipant | undefined,
    options: TurnOptions,
  ): AsyncGenerator<ChatStreamPart, void, void> {
    if (agent !== undefined) checkParticipant(`${caller}: agent`, agent);
    yield* this.activity(options.signal, () => (agent ? this.#turnOf(agent, options) : this.#loop(options)));
  }

  async *#turnOf(agent: ChatParticipant, options: TurnOptions): AsyncGenerator<ChatStreamPart, void, void> {
    this.addAgent(agent);
    yield* this.speak(agent, options);
    await this.#ask(agent, options);
  }

  async *#loop(options: TurnOptions): AsyncGenerator<ChatStreamPart, void, void> {
    if (this.#isComplete) {
      if (!this.#automaticReset) {
        throw new StoreError("INVALID_STATE", "Agent Failure - Chat has completed.");
      }
      this.#isComplete = false;
    }
    let next = await this.#interrupted(options);
    for (let turn = 0; turn < this.#maximumIterations && !this.#isComplete; turn++) {
      next ??= await this.#next(options.signal);
      yield* this.#turnOf(next, options);
      next = undefined;
    }
  }

  /** Who was cut off before it came to an answer; where it had answered, the termination is asked now. */
  async #interrupted(options: TurnOptions): Promise<ChatParticipant | undefined> {
    const { turn } = this;
    const agent = this.#agents.find(({ id }) => id === turn?.agent);
    if (!turn || !agent) return undefined;
    if (!turn.isAnswered) return agent;
    await this.#ask(agent, options);
    return undefined;
  }

  async #next(signal: AbortSignal | undefined): Promise<ChatParticipant> {
    const initialAgent = this.#initialAgent;
    if (initialAgent && !this.#agents.some((agent) => hasSpoken(agent, this.history))) return initialAgent;
    return await select(this.#selection, this.#agents, this.history, {
      ...(signal && { signal }),
      ...(initialAgent && { initialAgent }),
    });
  }

  /** Asks the termination, and ends the turn. */
  async #ask(agent: ChatParticipant, { signal }: ChatOptions): Promise<void> {
    try {
      const options = signal ? { signal } : {};
      this.#isComplete = this.#termination
        ? await askTermination(this.#termination, agent, this.history, options)
        : false;
    } catch (error) {
      // A question that was cut off is asked again; one that failed is not, or the chat could never go on.
      if (!StoreError.is(error, "ABORTED")) await this.conclude();
      throw error;
    }
    await this.conclude();
  }
}
