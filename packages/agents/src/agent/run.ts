import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { type ChatMessage, invalid, type Revision, StoreError, untilAborted } from "@scrollback/store-core";
import {
  type FinishReason,
  isStepCount,
  type LanguageModel,
  type LanguageModelUsage,
  type ModelMessage,
  type PrepareStepFunction,
  type StepResult,
  type StopCondition,
  type ToolSet,
} from "ai";
import type { ContextProvider } from "../context/context-provider.ts";
import { Invocations } from "../context/invocations.ts";
import type { Conversation } from "../thread/conversation.ts";
import { isWhole } from "./exchange.ts";
import { type ResponseMessage, toModelMessages, withoutUndefined } from "./model-messages.ts";
import type { ChatAgentOptions, OnConflict, Persist } from "./options.ts";
import type { StreamProgress } from "./stream-progress.ts";
import { partialAnswer, turnOf } from "./turn.ts";

/** What a run gives back. */
export interface AgentResult {
  /** The text of the model's last step. */
  readonly text: string;
  /** What the model and its tools said, in order; with a thread the same that was stored behind the input. */
  readonly messages: ResponseMessage[];
  /** Why the model's last step ended. */
  readonly finishReason: FinishReason;
  /** The tokens of all steps. */
  readonly usage: LanguageModelUsage;
}

/** The agent as a run sees it: its options, with what is left out filled in. */
export interface RunningAgent extends Omit<ChatAgentOptions, "contextProviders" | "stores"> {
  readonly id: string;
  readonly maxSteps: number;
  readonly onError: NonNullable<ChatAgentOptions["onError"]>;
}

/** What one run is given. */
export interface RunRequest {
  readonly agent: RunningAgent;
  readonly input: readonly ChatMessage[];
  readonly conversation: Conversation | undefined;
  /** What was said before, of a run without a conversation: as its keeper shortened it, so it is not reduced again. */
  readonly history?: readonly ChatMessage[] | undefined;
  readonly providers: readonly ContextProvider[];
  readonly signal: AbortSignal | undefined;
  readonly persist: Persist;
  readonly persistPartial: boolean;
  readonly onConflict: OnConflict;
}

/** The outcome of the model's part of a run, however it was asked. */
export interface ModelOutcome {
  readonly messages: readonly ResponseMessage[];
  readonly lastStep: StepResult<ToolSet>;
  readonly usage: LanguageModelUsage;
}

/** What `generateText` and `streamText` both take. */
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
 * One run, whether its answer streams or not: `prepare`, then the model, then `complete`, and `fail` where anything went
 * wrong. Takes the thread when it is made; `release` gives it back.
 */
export class Run {
  readonly #request: RunRequest;
  readonly #invocations: Invocations;
  readonly #operation = randomUUID();
  #revision: Revision | null | undefined;
  /** How many of the response's messages are stored. */
  #stored = 0;
  #writes = 0;
  /** Whether the input is stored, no write has failed since, and none is under way. */
  #canWrite = false;
  /** What had been said when the step began that is under way. */
  #said: readonly ResponseMessage[] = [];
  /** What had been said after so many steps, where every tool call had its result. */
  readonly #whole = new Map<number, readonly ResponseMessage[]>();
  /** The text of an answer that the provider ended with an error. */
  #failedText = "";

  /** @throws StoreError `CONFLICT` when another run has the thread. */
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

  /** Reads the history, asks the providers, and puts together what the model is asked. */
  async prepare(): Promise<ModelCall> {
    const { signal } = this.#request;
    return await untilAborted(() => this.#prepare(), signal);
  }

  async #prepare(): Promise<ModelCall> {
    const { agent, conversation, input, signal } = this.#request;
    const history = await this.#history();
    const { settled, open, isStored } = turnOf(history, input, conversation !== undefined);
    // The caller was told that it is over.
    if (signal?.aborted) throw abortedError(signal);
    if (!isStored) await this.#write(input);
    this.#canWrite = true;
    await conversation?.announce();
    await this.#invocations.ask(input);
    const seen = agent.reducer && conversation && settled.length > 0 ? await this.#reduce(settled) : settled;
    const messages = toModelMessages([...seen, ...this.#invocations.messages, ...open]);
    if (messages.length === 0) invalid("input: must hold a message, as nothing was said before it");
    const instructions = [agent.instructions, ...this.#invocations.instructions].filter(Boolean).join("\n");
    const { tools } = this.#invocations;
    const id = conversation?.serviceThreadId;
    return {
      model: agent.model,
      messages,
      // A history may hold system messages; whoever writes to the store is trusted with them.
      allowSystemInMessages: true,
      ...(instructions !== "" && { instructions }),
      ...(Object.keys(tools).length > 0 && { tools }),
      ...(signal && { abortSignal: signal }),
      ...(id !== undefined && { providerOptions: this.#sendId(id) }),
      stopWhen: isStepCount(agent.maxSteps),
      prepareStep: async ({ responseMessages, stepNumber }) => {
        this.#said = responseMessages;
        this.#noteStep(stepNumber, responseMessages);
        await this.#completeStep(responseMessages);
        return undefined;
      },
      onStepEnd: ({ stepNumber, finishReason, response }) => {
        if (finishReason !== "error") this.#noteStep(stepNumber + 1, [...this.#said, ...response.messages]);
      },
    };
  }

  async #history(): Promise<readonly ChatMessage[]> {
    const { conversation, history = [], signal } = this.#request;
    if (!conversation || this.#isKeptByService) return history;
    const { messages, revision } = await conversation.history(signal);
    this.#revision = revision;
    return messages;
  }

  async #reduce(history: readonly ChatMessage[]): Promise<readonly ChatMessage[]> {
    const { agent, signal } = this.#request;
    const reduced = await agent.reducer?.reduce(history, signal ? { signal } : {});
    return Array.isArray(reduced) ? reduced : invalid("reducer: reduce must return a list of messages");
  }

  /** Whether the provider keeps the history: it has its id, or will give it one. */
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
      "thread: the provider keeps its history, but the agent does not know how to go on with it; give the agent serviceThread",
    );
  }

  #noteStep(steps: number, messages: readonly ResponseMessage[]): void {
    if (isWhole(messages)) this.#whole.set(steps, messages);
  }

  /** Before each further step: stores those before it, where that is asked for and no tool call is open. */
  async #completeStep(messages: readonly ResponseMessage[]): Promise<void> {
    const { persist, signal } = this.#request;
    // The SDK goes on for a while with a run that its caller was told is over.
    if (signal?.aborted) throw abortedError(signal);
    if (persist === "eachStep" && isWhole(messages)) await this.#store(messages);
  }

  /** Stores what the model said, and tells the providers. */
  async complete({ messages, lastStep, usage }: ModelOutcome): Promise<AgentResult> {
    const { input, signal } = this.#request;
    if (signal?.aborted) throw abortedError(signal);
    const { text, finishReason } = lastStep;
    if (finishReason === "error") {
      this.#failedText = text;
      throw new StoreError("UNAVAILABLE", "model: the provider ended its answer with an error");
    }
    const response = withoutUndefined(messages);
    if (this.#isKeptByService) await this.#receiveId(lastStep);
    else await this.#store(response);
    await this.#invocations.tell({ request: [...input], response });
    return { text, messages: response, finishReason, usage };
  }

  async #receiveId(lastStep: StepResult<ToolSet>): Promise<void> {
    const { agent, conversation } = this.#request;
    const id = agent.serviceThread?.receive(lastStep);
    if (!conversation || typeof id !== "string" || id === "") {
      throw new StoreError(
        "UNSUPPORTED",
        "serviceThread.receive: the provider gave no id for the thread; does it keep histories?",
      );
    }
    conversation.setServiceThreadId(id);
    try {
      await conversation.announce();
    } catch (error) {
      // The provider has the turn already.
      agent.onError(error, { source: "contextProviders.threadCreated" });
    }
  }

  async #store(messages: readonly ResponseMessage[]): Promise<void> {
    await this.#write(withoutUndefined(messages.slice(this.#stored)));
    this.#stored = messages.length;
  }

  /** Adds messages to the conversation, where there is one that is kept here. */
  async #write(added: readonly ChatMessage[]): Promise<void> {
    const { conversation, onConflict } = this.#request;
    if (!conversation || this.#isKeptByService || added.length === 0) return;
    const isChecked = onConflict === "fail" && this.#revision !== undefined;
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
      const problem =
        "thread: it was written to since this run read it; what this run had to add was not added";
      throw new StoreError("CONFLICT", problem, { cause: error });
    }
  }

  /**
   * Keeps what a failed run has finished, and with `persistPartial` what it has begun to say.
   *
   * @param progress how much of it was handed out; without it all that is finished counts.
   */
  async #keep(progress: StreamProgress | undefined): Promise<void> {
    if (!this.#canWrite) return;
    // The SDK tells of a step's end a moment after the part that says so.
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

  /** Keeps what was finished, tells the providers of a failure, and says what the caller is to hear. */
  async fail(error: unknown, progress?: StreamProgress): Promise<unknown> {
    const { input, signal } = this.#request;
    await this.#keep(progress);
    const isAborted = signal?.aborted === true && !StoreError.is(error, "ABORTED");
    const heard = isAborted && signal ? abortedError(signal) : error;
    await this.#invocations.tell({ request: [...input], error: heard });
    return heard;
  }
}

/** Whatever an aborted run failed with, its caller hears `ABORTED`. */
export function abortedError(signal: AbortSignal): StoreError {
  const problem = "signal: the run was aborted; its input stays stored, and the steps that were finished";
  return new StoreError("ABORTED", problem, { cause: signal.reason });
}
