// Exceeds 300 lines because all steps of a run share its state: what was read, what was sent and what is stored.
import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { type ChatMessage, type Revision, StoreError } from "@scrollback/store-core";
import { invalid } from "@scrollback/store-core/driver";
import { modelHistory, untilAborted } from "@scrollback/store-core/internal";
import type {
  FinishReason,
  LanguageModel,
  LanguageModelUsage,
  ModelMessage,
  PrepareStepFunction,
  StepResult,
  StopCondition,
  ToolSet,
} from "ai";
import { isStepCount } from "../ai.ts";
import type { ContextProvider } from "../context/context-provider.ts";
import { Invocations } from "../context/invocations.ts";
import type { Conversation } from "../thread/conversation.ts";
import { isWhole } from "./exchange.ts";
import { reducedBy } from "./history-reducer.ts";
import { type ResponseMessage, toModelMessages, withoutUndefined } from "./model-messages.ts";
import type { ChatAgentOptions, OnConflict, Persist } from "./options.ts";
import { storedAnswer } from "./stored-answer.ts";
import type { StreamProgress } from "./stream-progress.ts";
import { assertUndecided, partialAnswer, turnOf } from "./turn.ts";

/** The result of a run. */
export interface AgentResult {
  /** The text of the model's last step. */
  readonly text: string;
  /** The messages of the model and its tools, in order. With a thread, the same messages are stored after the input. */
  readonly messages: ResponseMessage[];
  /** Why the model's last step ended. */
  readonly finishReason: FinishReason;
  /** The tokens of all steps. */
  readonly usage: LanguageModelUsage;
}

/** The agent's options with the defaults filled in. */
export interface RunningAgent extends Omit<ChatAgentOptions, "contextProviders" | "stores"> {
  readonly id: string;
  readonly maxSteps: number;
  readonly onError: NonNullable<ChatAgentOptions["onError"]>;
}

/** The input of a run. */
export interface RunRequest {
  readonly agent: RunningAgent;
  readonly input: readonly ChatMessage[];
  readonly conversation: Conversation | undefined;
  /** The history of a run without a conversation. The caller has reduced it already, so it is not reduced again. */
  readonly history?: readonly ChatMessage[] | undefined;
  readonly providers: readonly ContextProvider[];
  readonly signal: AbortSignal | undefined;
  readonly persist: Persist;
  readonly persistPartial: boolean;
  readonly onConflict: OnConflict;
}

/** The output of the model, streamed or not. */
export interface ModelOutcome {
  readonly messages: readonly ResponseMessage[];
  readonly lastStep: StepResult<ToolSet>;
  readonly usage: LanguageModelUsage;
}

/** The options that `generateText` and `streamText` share. */
export interface ModelCall {
  readonly model: LanguageModel;
  readonly messages: ModelMessage[];
  readonly allowSystemInMessages: true;
  readonly instructions?: string;
  readonly tools?: ToolSet;
  readonly abortSignal?: AbortSignal;
  readonly providerOptions?: NonNullable<ModelMessage["providerOptions"]>;
  readonly stopWhen: StopCondition<ToolSet>;
  readonly prepareStep: PrepareStepFunction<ToolSet>;
  readonly onStepEnd: (step: StepResult<ToolSet>) => void;
}

/**
 * One run, streamed or not: `prepare`, then the model, then `complete`, or `fail` after an error. The constructor reserves
 * the thread; `release` frees it.
 */
export class Run {
  readonly #request: RunRequest;
  readonly #invocations: Invocations;
  readonly #operation = randomUUID();
  #revision: Revision | null | undefined;
  /** The number of the response's messages that are stored. */
  #stored = 0;
  #writes = 0;
  /** Whether the input is stored, no write has failed since, and no write is running. */
  #canWrite = false;
  /** The response's messages when the current step began. */
  #responses: readonly ResponseMessage[] = [];
  /** The response's messages by number of steps, for the steps after which every tool call had its result. */
  readonly #whole = new Map<number, readonly ResponseMessage[]>();
  /** The text of an answer that the provider ended with an error. */
  #failedText = "";
  /** The answer that an earlier run with this input has stored. */
  #answer: readonly ChatMessage[] | undefined;

  /** @throws StoreError `CONFLICT` when another run holds the thread. */
  constructor(request: RunRequest) {
    const { agent, conversation, providers, signal } = request;
    this.#request = request;
    this.#invocations = new Invocations(providers, agent.tools ?? {}, {
      agentId: agent.id,
      agentName: agent.name,
      signal,
      threadId: () => conversation?.id,
      onError: agent.onError,
    });
    conversation?.begin(request.onConflict);
  }

  release(): void {
    this.#request.conversation?.end();
  }

  /** Reads the history, asks the providers, and builds the model call. */
  async prepare(): Promise<ModelCall> {
    const { signal } = this.#request;
    return await untilAborted(() => this.#prepare(), signal);
  }

  async #prepare(): Promise<ModelCall> {
    const { agent, conversation, input, signal } = this.#request;
    const history = await this.#history();
    const { earlier, open, isStored, answer } = turnOf(history, input, conversation !== undefined);
    // The caller has already received `ABORTED`.
    if (signal?.aborted) throw abortedError(signal);
    if (!isStored) {
      if (!answer) assertUndecided(history, input);
      await this.#write(input);
    }
    this.#canWrite = answer === undefined;
    await conversation?.announce();
    if (answer) return this.#repeat(answer);
    await this.#invocations.ask(input);
    const seen =
      agent.reducer && conversation && earlier.length > 0
        ? await reducedBy("reducer", agent.reducer, earlier, signal)
        : earlier;
    const messages = toModelMessages(this.#sendable([...seen, ...this.#invocations.messages, ...open]));
    if (messages.length === 0) invalid("input: must hold a message; the conversation is empty");
    const instructions = [agent.instructions, ...this.#invocations.instructions].filter(Boolean).join("\n");
    const { tools } = this.#invocations;
    const id = conversation?.serviceThreadId;
    return {
      model: agent.model,
      messages,
      // A history may hold system messages: writers of the store are trusted with them.
      allowSystemInMessages: true,
      ...(instructions !== "" && { instructions }),
      ...(Object.keys(tools).length > 0 && { tools }),
      ...(signal && { abortSignal: signal }),
      ...(id !== undefined && { providerOptions: this.#sendId(id) }),
      stopWhen: isStepCount(agent.maxSteps),
      prepareStep: async ({ responseMessages, stepNumber }) => {
        this.#responses = responseMessages;
        this.#noteStep(stepNumber, responseMessages);
        await this.#completeStep(responseMessages);
        return undefined;
      },
      onStepEnd: ({ stepNumber, finishReason, response }) => {
        if (finishReason !== "error")
          this.#noteStep(stepNumber + 1, [...this.#responses, ...response.messages]);
      },
    };
  }

  /** The history, without what models refuse. What a provider keeps itself may have the calls of new results. */
  #sendable(messages: readonly ChatMessage[]): readonly ChatMessage[] {
    const { agent, conversation } = this.#request;
    if (this.#isKeptByService) return messages;
    const onError = (error: unknown) => agent.onError(error, { source: "history" });
    const target = { scope: agent, threadId: conversation?.id ?? "", onError };
    return modelHistory(messages, target, this.#invocations.tools);
  }

  #repeat(answer: readonly ChatMessage[]): ModelCall {
    this.#answer = answer;
    return {
      model: storedAnswer(answer),
      // The AI SDK requires a message; nobody reads it.
      messages: [{ role: "user", content: "" }],
      allowSystemInMessages: true,
      stopWhen: isStepCount(1),
      prepareStep: async () => undefined,
      onStepEnd: () => {},
    };
  }

  async #history(): Promise<readonly ChatMessage[]> {
    const { conversation, history = [], signal } = this.#request;
    if (!conversation || this.#isKeptByService) return history;
    const { messages, revision } = await conversation.history(signal);
    this.#revision = revision;
    return messages;
  }

  /** Whether the provider keeps the history: the thread has its id, or will receive one. */
  get #isKeptByService(): boolean {
    const { agent, conversation } = this.#request;
    if (!conversation || conversation.store) return false;
    if (conversation.serviceThreadId !== undefined) return true;
    return agent.serviceThread !== undefined && conversation.stores === undefined;
  }

  #sendId(id: string): NonNullable<ModelMessage["providerOptions"]> {
    const { serviceThread } = this.#request.agent;
    if (serviceThread) return serviceThread.send(id) as NonNullable<ModelMessage["providerOptions"]>;
    throw new StoreError(
      "INVALID_STATE",
      "thread: its history is at the provider, but the agent has no serviceThread; give the agent serviceThread",
    );
  }

  #noteStep(steps: number, messages: readonly ResponseMessage[]): void {
    if (isWhole(messages)) this.#whole.set(steps, messages);
  }

  /** Before each further step: stores the previous steps with `persist: "eachStep"` if no tool call is open. */
  async #completeStep(messages: readonly ResponseMessage[]): Promise<void> {
    const { persist, signal } = this.#request;
    // The AI SDK continues for a while after the caller has received `ABORTED`.
    if (signal?.aborted) throw abortedError(signal);
    if (persist === "eachStep" && isWhole(messages)) await this.#store(messages);
  }

  /** Stores the response and informs the providers. */
  async complete({ messages, lastStep, usage }: ModelOutcome): Promise<AgentResult> {
    const { input, signal } = this.#request;
    if (signal?.aborted) throw abortedError(signal);
    const { text, finishReason } = lastStep;
    if (finishReason === "error") {
      this.#failedText = text;
      throw new StoreError("UNAVAILABLE", "model: the provider ended its answer with an error");
    }
    const response = this.#answer
      ? (toModelMessages(this.#answer) as ResponseMessage[])
      : withoutUndefined(messages);
    if (this.#isKeptByService) await this.#receiveId(lastStep);
    else if (!this.#answer) await this.#store(response);
    await this.#invocations.tell({ request: [...input], response });
    return { text, messages: response, finishReason, usage };
  }

  async #receiveId(lastStep: StepResult<ToolSet>): Promise<void> {
    const { agent, conversation } = this.#request;
    const id = agent.serviceThread?.receive(lastStep);
    if (!conversation || typeof id !== "string" || id === "") {
      throw new StoreError(
        "UNSUPPORTED",
        "serviceThread.receive: the provider returned no thread id; check that it stores responses",
      );
    }
    conversation.setServiceThreadId(id);
    try {
      await conversation.announce();
    } catch (error) {
      // The provider has stored the turn already.
      agent.onError(error, { source: "contextProviders.threadCreated" });
    }
  }

  async #store(messages: readonly ResponseMessage[]): Promise<void> {
    await this.#write(withoutUndefined(messages.slice(this.#stored)));
    this.#stored = messages.length;
  }

  /** Adds messages to the conversation if Scrollback stores it. */
  async #write(added: readonly ChatMessage[]): Promise<void> {
    const { conversation, onConflict } = this.#request;
    if (!conversation || this.#isKeptByService || added.length === 0) return;
    const isChecked = onConflict === "fail" && this.#revision !== undefined;
    const isInputStored = this.#canWrite;
    this.#writes += 1;
    this.#canWrite = false;
    try {
      this.#revision = await conversation.add(added, {
        operationId: `${this.#operation}/${this.#writes}`,
        ...(isChecked && { expectedRevision: this.#revision ?? null }),
      });
      this.#canWrite = true;
    } catch (error) {
      if (!isChecked || !StoreError.is(error, "CONFLICT")) throw error;
      const kept = isInputStored
        ? "the input stays stored, run again with messages of the same ids"
        : "nothing was added, run again";
      const problem = `thread: another writer changed it since this run read it; ${kept}`;
      throw new StoreError("CONFLICT", problem, { cause: error });
    }
  }

  /**
   * Stores the finished steps of a failed run, and with `persistPartial` the text of the unfinished step.
   *
   * @param progress how much of the answer was yielded; without it all finished steps count.
   */
  async #keep(progress: StreamProgress | undefined): Promise<void> {
    if (!this.#canWrite) return;
    // The AI SDK calls `onStepEnd` shortly after it yields the step's last part.
    await setImmediate();
    const { steps = Number.POSITIVE_INFINITY, text = this.#failedText } = progress ?? {};
    const [, finished = []] = [...this.#whole].findLast(([count]) => count <= steps) ?? [];
    const kept: ChatMessage[] = withoutUndefined(finished.slice(this.#stored));
    const isBehind = this.#stored <= finished.length;
    if (this.#request.persistPartial && isBehind && text !== "") kept.push(partialAnswer(text));
    try {
      await this.#write(kept);
    } catch (error) {
      this.#request.agent.onError(error, { source: "thread" });
    }
  }

  /** Stores the finished steps, informs the providers, and returns the error for the caller. */
  async fail(error: unknown, progress?: StreamProgress): Promise<unknown> {
    const { input, signal } = this.#request;
    await this.#keep(progress);
    const isAborted = signal?.aborted === true && !StoreError.is(error, "ABORTED");
    const reported = isAborted && signal ? abortedError(signal) : error;
    await this.#invocations.tell({ request: [...input], error: reported });
    return reported;
  }
}

/** The error of an aborted run, for any failure that the abort caused. */
export function abortedError(signal: AbortSignal): StoreError {
  const problem =
    "signal: the run was aborted; its input and the steps that were finished stay stored, and partial text with persistPartial";
  return new StoreError("ABORTED", problem, { cause: signal.reason });
}
