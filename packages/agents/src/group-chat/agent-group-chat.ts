import { type ChatMessage, type MessageStore, StoreError } from "@scrollback/store-core";
import { type Check, checkOptions, invalid } from "@scrollback/store-core/driver";
import { checkValue, isBoolean, isPositiveInteger, isSignal } from "@scrollback/store-core/internal";
import { AgentChat } from "./agent-chat.ts";
import type { ChatProgress } from "./chat-state.ts";
import { type ChatParticipant, isParticipant } from "./participant.ts";
import {
  hasTakenTurn,
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

/** Options of {@link AgentGroupChat}. */
export interface AgentGroupChatOptions {
  /** The participants, in joining order. Default: none. */
  agents?: readonly ChatParticipant[];
  /** Selects the agent of the next turn. Default: a {@link SequentialSelection}. */
  selection?: Selection;
  /** Decides when the chat is complete. Default: never. */
  termination?: Termination;
  /**
   * Takes the first turn while no agent of the chat has taken one. Added last if it is not in `agents`. Default: the
   * selection decides.
   */
  initialAgent?: ChatParticipant;
  /** The maximum number of turns of one `invoke`, a positive integer. Default 99 with a `termination`, else 1. */
  maximumIterations?: number;
  /** Whether invoking a complete chat continues it. Default false: it throws. */
  automaticReset?: boolean;
  /** Where the history is stored: a thread of any store, used by this chat only. Default: in memory. */
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
 * Agents that take turns: a selection chooses the next agent, a termination decides when the chat is complete. With a
 * `store` each message is committed as soon as it is produced, together with the chat's progress; a chat on the same store
 * continues from there.
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

  /** Does no I/O. @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option. */
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
   * Adds an agent. Adding it twice changes nothing.
   *
   * @throws StoreError `INVALID_ARGUMENT` for an invalid participant, or an id that another agent has.
   */
  addAgent(agent: ChatParticipant): void {
    checkValue("addAgent", "agent", isParticipant, agent);
    const known = this.#agents.find(({ id }) => id === agent.id);
    if (!known) this.#agents.push(agent);
    else if (known !== agent)
      invalid(`addAgent: agent has the id "${agent.id}" of another agent; use a unique id`);
  }

  /**
   * Lets agents take turns until the termination ends the chat or `maximumIterations` turns were taken. A turn that was
   * interrupted (by a crash, a failure or a reader that stopped) is continued first. With `agent`: it joins and takes one
   * turn, regardless of selection and limit; the termination is still asked.
   *
   * @throws StoreError `CONFLICT` while an agent is active, `INVALID_STATE` for a complete chat or one without agents,
   *   `UNAVAILABLE` when a channel could not receive earlier messages; and what agents, strategies and the store throw. The
   *   messages so far stay in the history.
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
    if (agent !== undefined) checkValue(caller, "agent", isParticipant, agent);
    yield* this.activity(options.signal, () => (agent ? this.#turnOf(agent, options) : this.#loop(options)));
  }

  async *#turnOf(agent: ChatParticipant, options: TurnOptions): AsyncGenerator<ChatStreamPart, void, void> {
    this.addAgent(agent);
    yield* this.takeTurn(agent, options);
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

  /** The agent whose turn was interrupted before it answered. If it had answered, the termination is asked now. */
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
    if (initialAgent && !this.#agents.some((agent) => hasTakenTurn(agent, this.history))) return initialAgent;
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
      // An interrupted decision is repeated. A failed one is not, because the chat could then never continue.
      if (!StoreError.is(error, "ABORTED")) await this.conclude();
      throw error;
    }
    await this.conclude();
  }
}
