import { randomUUID } from "node:crypto";
import type { ChatMessage } from "@scrollback/store-core";
import { checkOptions, invalid } from "@scrollback/store-core/driver";
import { isSignal, reporter, untilAborted } from "@scrollback/store-core/internal";
import type { TextStreamPart, ToolSet } from "ai";
import { generateText, streamText } from "../ai.ts";
import { type ContextProvider, isProviderList } from "../context/context-provider.ts";
import { restoreProviders } from "../context/provider-states.ts";
import { type AgentInput, checkMessages, messagesOf } from "../messages.ts";
import { AgentThread, conversationOf } from "../thread/agent-thread.ts";
import type { Conversation } from "../thread/conversation.ts";
import { restoreStore, storeById } from "../thread/store-source.ts";
import { parseThreadState } from "../thread/thread-state.ts";
import { isThreadStore, type ThreadStore } from "../thread/thread-store.ts";
import type { HistoryReducer } from "./history-reducer.ts";
import {
  type ChatAgentOptions,
  checkAgentOptions,
  checkRunOptions,
  type RunOptions,
  warn,
} from "./options.ts";
import { viewFor } from "./perspective.ts";
import { type AgentResult, abortedError, Run, type RunningAgent } from "./run.ts";
import { runSteps, type StreamedPart } from "./run-steps.ts";
import { StreamProgress, stoppable } from "./stream-progress.ts";

const DEFAULT_MAX_STEPS = 20;
const threadOptionChecks = Object.freeze({
  serviceThreadId: () => undefined,
  messageStore: () => undefined,
});
const invokeChecks = Object.freeze({ signal: isSignal });
const restoreChecks = Object.freeze({ messageStore: isThreadStore });

/**
 * An agent: a model, its tools and its instructions. It holds no conversation itself: any number of agents, in any number
 * of processes, can continue one thread, one run at a time.
 *
 * @example
 * const agent = new ChatAgent({ model, stores: await openStores("sqlite:chats.db") });
 * const thread = agent.getNewThread();
 * const { text } = await agent.run("Hello, my name is Alice", { thread });
 */
export class ChatAgent implements AsyncDisposable {
  readonly #options: ChatAgentOptions;
  readonly #running: RunningAgent;

  /** @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option. */
  constructor(options: ChatAgentOptions) {
    checkAgentOptions(options);
    this.#options = { ...options };
    const { contextProviders: _providers, stores: _stores, ...rest } = options;
    this.#running = {
      ...rest,
      id: options.id ?? randomUUID(),
      maxSteps: options.maxSteps ?? DEFAULT_MAX_STEPS,
      onError: options.onError ? reporter(options.onError) : warn,
    };
  }

  get id(): string {
    return this.#running.id;
  }

  get name(): string | undefined {
    return this.#running.name;
  }

  /** Shortens a history before the model sees it. {@link invoke} does not use it: there the caller keeps the history. */
  get reducer(): HistoryReducer | undefined {
    return this.#running.reducer;
  }

  /**
   * Returns a new thread, without I/O. Its history is in `messageStore`, or at the provider under `serviceThreadId`.
   * Without either, the first run creates the store, or takes the id from the provider if the agent has `serviceThread`.
   *
   * @throws StoreError `INVALID_STATE` when both are given.
   */
  getNewThread(
    options: { serviceThreadId?: string | null; messageStore?: ThreadStore | null } = {},
  ): AgentThread {
    checkOptions("getNewThread", options, threadOptionChecks);
    return this.#threadWith(options);
  }

  /**
   * Restores a thread from the state that `serialize()` returned, in this process or another. The saved state of its store
   * goes to the agent's `stores`, or to `updateFromState` of the given `messageStore`. Nothing is written.
   *
   * @throws StoreError `INVALID_STATE` for a foreign state; when the store fails, an error with the store's code
   *   (`UNAVAILABLE` if it has none) and the failure as `cause`.
   */
  async deserializeThread(
    state: unknown,
    options: { messageStore?: ThreadStore } = {},
  ): Promise<AgentThread> {
    checkOptions("deserializeThread", options, restoreChecks);
    const { serviceThreadId, storeState, contextStates } = parseThreadState(state);
    const { messageStore } = options;
    const isStored = storeState !== undefined;
    const { stores } = this.#options;
    const store = isStored ? await restoreStore(stores, storeState, messageStore) : messageStore;
    const thread = this.#threadWith({ serviceThreadId, messageStore: store });
    const conversation = conversationOf(thread);
    if (contextStates) await restoreProviders(conversation.providers ?? [], contextStates);
    if (isStored || serviceThreadId !== undefined) conversation.markRestored();
    return thread;
  }

  /**
   * Stores the input in the thread, asks the model, lets it use its tools, and stores the answer after the input. An input
   * that an earlier run stored without an answer is not stored again. A failed run can be retried with the same input or
   * with none; it continues from the last finished step. If the thread has the answer to an input whose messages all have
   * ids, that answer is returned, and no model is asked.
   *
   * @throws StoreError `INVALID_ARGUMENT`, `CONFLICT` when another run was on the thread, `ABORTED`, and the store's
   *   errors. Errors of the model and of context providers are rethrown unchanged. The input and the finished steps stay
   *   stored.
   */
  async run(input: AgentInput, options: RunOptions = {}): Promise<AgentResult> {
    checkRunOptions("run", options);
    const { run, finish } = this.#begin(input, options, options.signal);
    try {
      const call = await run.prepare();
      const result = await untilAborted(() => generateText(call), options.signal);
      const { responseMessages: messages, finalStep: lastStep, usage } = result;
      return await run.complete({ messages, lastStep, usage });
    } catch (error) {
      throw await run.fail(error);
    } finally {
      await finish();
    }
  }

  /**
   * Like {@link run}, but yields the parts of the AI SDK's full stream as they arrive. The turn is stored before the last
   * part, `finish`, is yielded; a reader that stops earlier cancels the run. Starts when the first part is requested.
   *
   * @throws what `run` throws, from the iteration.
   */
  async *runStream(
    input: AgentInput,
    options: RunOptions = {},
  ): AsyncGenerator<TextStreamPart<ToolSet>, void, void> {
    checkRunOptions("runStream", options);
    const stop = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
    const { run, finish } = this.#begin(input, options, signal);
    const progress = new StreamProgress();
    let isOver = false;
    try {
      const call = await run.prepare();
      const result = streamText({ ...call, onError: () => {} });
      let last: TextStreamPart<ToolSet> | undefined;
      for await (const part of result.stream) {
        if (part.type === "error") throw part.error;
        if (part.type === "abort") throw abortedError(signal);
        progress.note(part);
        if (part.type === "finish") last = part;
        else yield* stoppable(part, stop);
      }
      const [messages, lastStep, usage] = await Promise.all([
        result.responseMessages,
        result.finalStep,
        result.usage,
      ]);
      await run.complete({ messages, lastStep, usage });
      isOver = true;
      if (last) yield last;
    } catch (error) {
      isOver = true;
      throw await run.fail(error, progress);
    } finally {
      if (!isOver) await run.fail(abortedError(stop.signal), progress);
      await finish();
    }
  }

  /**
   * Takes one turn in a conversation that the caller keeps, for example a group chat. `messages` are oldest first; those
   * with this agent's name are its own. Yields each message when it is complete, including tool calls and results. Stores
   * nothing and reduces nothing. Other participants' messages reach the model as user messages that begin with their name.
   *
   * @throws what `run` throws, from the iteration. A reader that stops early cancels the run.
   */
  async *invoke(
    messages: readonly ChatMessage[],
    options: { signal?: AbortSignal } = {},
  ): AsyncGenerator<ChatMessage, void, void> {
    for await (const part of this.#invoke("invoke", messages, options)) {
      if (part.type === "message") yield part.message;
    }
  }

  /** Like {@link invoke}, but yields the pieces of each text as they arrive, then the complete message. */
  async *invokeStream(
    messages: readonly ChatMessage[],
    options: { signal?: AbortSignal } = {},
  ): AsyncGenerator<StreamedPart, void, void> {
    yield* this.#invoke("invokeStream", messages, options);
  }

  async *#invoke(
    caller: "invoke" | "invokeStream",
    messages: readonly ChatMessage[],
    options: { signal?: AbortSignal },
  ): AsyncGenerator<StreamedPart, void, void> {
    checkOptions(caller, options, invokeChecks);
    checkMessages(`${caller}: messages`, messages);
    const { id, name = id, maxSteps } = this.#running;
    const stop = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
    const { history, input } = viewFor(name, messages);
    const { run, finish } = this.#begin(input, {}, signal, history);
    try {
      yield* runSteps({ run, maxSteps, streams: caller === "invokeStream", stop, signal });
    } finally {
      await finish();
    }
  }

  /** Closes the context providers that were given as a list. Stores and models stay open. */
  async close(): Promise<void> {
    const { contextProviders = [] } = this.#options;
    if (typeof contextProviders === "function") return;
    for (const provider of contextProviders) await provider.close?.();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #threadWith(options: {
    serviceThreadId?: string | null | undefined;
    messageStore?: ThreadStore | null | undefined;
  }): AgentThread {
    const thread = new AgentThread(options);
    this.#attachTo(conversationOf(thread));
    return thread;
  }

  /** Gives a thread this agent's stores and providers, unless the thread has its own. */
  #attachTo(conversation: Conversation): void {
    const { contextProviders, stores } = this.#options;
    conversation.stores ??= stores;
    if (conversation.providers) return;
    conversation.providers = this.#makeProviders();
    if (typeof contextProviders === "function") conversation.own = conversation.providers;
  }

  #makeProviders(): readonly ContextProvider[] {
    const { contextProviders = [] } = this.#options;
    if (typeof contextProviders !== "function") return contextProviders;
    const providers = contextProviders();
    const problem = isProviderList(providers);
    return problem ? invalid(`ChatAgent: result of contextProviders() ${problem}`) : providers;
  }

  #begin(
    input: AgentInput,
    options: RunOptions,
    signal: AbortSignal | undefined,
    history?: readonly ChatMessage[],
  ): { run: Run; finish: () => Promise<void> } {
    const messages = messagesOf(input);
    const { thread } = options;
    const isOneOff = !(thread instanceof AgentThread);
    const { stores } = this.#options;
    const opened =
      typeof thread === "string" ? new AgentThread({ messageStore: storeById(stores, thread) }) : thread;
    const conversation = opened && conversationOf(opened);
    if (conversation) this.#attachTo(conversation);
    const providers = conversation?.providers ?? this.#makeProviders();
    const run = new Run({
      agent: this.#running,
      input: messages,
      conversation,
      history,
      providers,
      signal,
      persist: options.persist ?? this.#running.persist ?? "onSuccess",
      persistPartial: options.persistPartial ?? this.#running.persistPartial ?? false,
      onConflict: options.onConflict ?? this.#running.onConflict ?? "fail",
    });
    const madeForRun = isOneOff && typeof this.#options.contextProviders === "function";
    return {
      run,
      finish: async () => {
        run.release();
        if (madeForRun) for (const provider of providers) await provider.close?.();
      },
    };
  }
}
