import { randomUUID } from "node:crypto";
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
import { isWhole, splitOpenExchange } from "./exchange.ts";
import { type ResponseMessage, toModelMessages, withoutUndefined } from "./model-messages.ts";
import type { ChatAgentOptions, OnConflict, Persist } from "./options.ts";

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
  /** How many of the response's messages are stored; undefined while not even the input is. */
  #stored: number | undefined;
  #writes = 0;

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
    await conversation?.announce();
    await this.#invocations.ask(input);
    const { settled, open } = splitOpenExchange(history, input);
    const seen = agent.reducer && conversation && settled.length > 0 ? await this.#reduce(settled) : settled;
    const messages = toModelMessages([...seen, ...this.#invocations.messages, ...open, ...input]);
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
      prepareStep: async ({ responseMessages }) => {
        await this.#completeStep(responseMessages);
        return undefined;
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

  /** Before each further step: stores those before it, where that is asked for and no tool call is open. */
  async #completeStep(messages: readonly ResponseMessage[]): Promise<void> {
    const { conversation, persist, signal } = this.#request;
    // The SDK goes on for a while with a run that its caller was told is over.
    if (signal?.aborted) throw abortedError(signal);
    if (persist !== "eachStep" || !conversation || this.#isKeptByService || messages.length === 0) return;
    if (isWhole(messages)) await this.#store(messages);
  }

  /** Stores what the model said, and tells the providers. */
  async complete({ messages, lastStep, usage }: ModelOutcome): Promise<AgentResult> {
    const { conversation, input, signal } = this.#request;
    if (signal?.aborted) throw abortedError(signal);
    const { text, finishReason } = lastStep;
    if (finishReason === "error") {
      throw new StoreError("UNAVAILABLE", "model: the provider ended its answer with an error");
    }
    const response = withoutUndefined(messages);
    if (this.#isKeptByService) await this.#receiveId(lastStep);
    else if (conversation) await this.#store(response);
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
    const { conversation, input, onConflict } = this.#request;
    const rest = withoutUndefined(messages.slice(this.#stored ?? 0));
    const added: ChatMessage[] = this.#stored === undefined ? [...input, ...rest] : rest;
    if (!conversation || added.length === 0) return;
    const isChecked = onConflict === "fail" && this.#revision !== undefined;
    this.#writes += 1;
    try {
      this.#revision = await conversation.add(added, {
        operationId: `${this.#operation}/${this.#writes}`,
        ...(isChecked && { expectedRevision: this.#revision ?? null }),
      });
    } catch (error) {
      if (!isChecked || !StoreError.is(error, "CONFLICT")) throw error;
      const problem = "thread: it was written to since this run read it; what this run said was not added";
      throw new StoreError("CONFLICT", problem, { cause: error });
    }
    this.#stored = messages.length;
  }

  /** Tells the providers of a failure, and says what the caller is to hear. */
  async fail(error: unknown): Promise<unknown> {
    const { input, signal } = this.#request;
    const isAborted = signal?.aborted === true && !StoreError.is(error, "ABORTED");
    const heard = isAborted && signal ? abortedError(signal) : error;
    await this.#invocations.tell({ request: [...input], error: heard });
    return heard;
  }
}

/** Whatever an aborted run failed with, its caller hears `ABORTED`. */
export function abortedError(signal: AbortSignal): StoreError {
  const problem = "signal: the run was aborted; only steps that were whole before are stored, if any";
  return new StoreError("ABORTED", problem, { cause: signal.reason });
}
