import {
  type ChatMessage,
  type Check,
  checkOptions,
  hasMethods,
  invalid,
  isBoolean,
  isFunction,
  isId,
  isObject,
  isOneOf,
  isPositiveInteger,
  isSignal,
  isString,
} from "@scrollback/store-core";
import type { LanguageModel, ToolSet } from "ai";
import { type ContextProviders, isContextProviders } from "../context/context-provider.ts";
import { AgentThread } from "../thread/agent-thread.ts";
import { isStoreSource, type StoreSource } from "../thread/store-source.ts";
import type { ServiceThread } from "./service-thread.ts";

/**
 * What shortens a history before the model sees it; see `@scrollback/reducers`. Never changes its input.
 *
 * @example
 * const newest: HistoryReducer = { reduce: async (messages) => messages.slice(-20) };
 */
export interface HistoryReducer {
  /**
   * What the reducer was made with, as plain JSON. In a group chat two reducers of one class with equal settings are
   * interchangeable; without it a reducer is like none but itself.
   */
  readonly settings?: unknown;
  reduce(messages: readonly ChatMessage[], options?: { signal?: AbortSignal }): Promise<ChatMessage[]>;
}

/** When the answer of a run is stored: at its end, or after each of the model's steps. */
export type Persist = "onSuccess" | "eachStep";

/** What becomes of a run whose thread was written to by another meanwhile. */
export type OnConflict = "fail" | "append";

/** Where an error comes from that failed no run. */
export interface ErrorContext {
  /** The place, for example `contextProviders[0].invoked`. */
  readonly source: string;
}

/** What a {@link ChatAgent} is made of. */
export interface ChatAgentOptions {
  /** A model of the AI SDK, or the id of one. */
  model: LanguageModel;
  /** Default: a new UUID. */
  id?: string;
  name?: string;
  /** What the model is told before the conversation, in every run. Never stored. */
  instructions?: string;
  /** The AI SDK's tools. */
  tools?: ToolSet;
  /** Where threads are kept. Default: in memory, each thread as long as it is referenced. */
  stores?: StoreSource;
  /** Shortens what the model sees of the history. What is stored stays whole. Default: the model sees all of it. */
  reducer?: HistoryReducer;
  /** Providers that all threads share, or a function that makes each thread its own. Default: none. */
  contextProviders?: ContextProviders;
  /** How often the model is asked in one run at most, a whole number from 1 on. Default 20. */
  maxSteps?: number;
  /**
   * When the answer is stored. `"onSuccess"`, the default: in one write when the run ends. `"eachStep"`: after each step in
   * which every tool call has its result, so that what tools did is kept when the process dies. The input is stored before
   * the model is asked, and the finished steps of a run that fails or is cancelled are kept, in both.
   */
  persist?: Persist;
  /**
   * Whether the text of a step that failed or was cancelled is stored, too: what was streamed of it, as an assistant's
   * message with `metadata: { partial: true }`. The model sees it once a user's message follows. Default false.
   */
  persistPartial?: boolean;
  /**
   * `"fail"`, the default: a run is refused with `CONFLICT` while another is under way on the same thread object, or when
   * it comes to write and the thread was written to since it was read or written to. `"append"`: it adds its messages anyway.
   */
  onConflict?: OnConflict;
  /**
   * For histories that the model's provider keeps. Excludes `stores`: a new thread would not know where its history belongs.
   * An application with both has two agents, or gives a thread its store (`getNewThread({ messageStore })`).
   */
  serviceThread?: ServiceThread;
  /** Told of what failed without failing a run. Default: a process warning. */
  onError?: (error: unknown, context: ErrorContext) => void;
}

/** What a run takes. */
export interface RunOptions {
  /**
   * The conversation that the run goes on with, or its id in the agent's `stores`, which then must be a store factory.
   * Default: none; nothing is kept.
   */
  thread?: AgentThread | string;
  /** Cancels the run, which then rejects with `ABORTED`. A write that has begun is finished. */
  signal?: AbortSignal;
  /** Default: the agent's. */
  persist?: Persist;
  /** Default: the agent's. */
  persistPartial?: boolean;
  /** Default: the agent's. */
  onConflict?: OnConflict;
}

const isModel: Check = (value) =>
  isString(value) === undefined || hasMethods("doGenerate", "doStream")(value) === undefined
    ? undefined
    : "must be a language model of the AI SDK, or the id of one";

const runChecks = Object.freeze({
  thread: (value: unknown) =>
    value instanceof AgentThread || isId(value) === undefined
      ? undefined
      : "must be an AgentThread, as getNewThread() returns it, or the id of a thread",
  signal: isSignal,
  persist: isOneOf("onSuccess", "eachStep"),
  persistPartial: isBoolean,
  onConflict: isOneOf("fail", "append"),
});

const agentChecks: Readonly<Record<keyof ChatAgentOptions, Check>> = Object.freeze({
  model: isModel,
  id: isString,
  name: isString,
  instructions: (value: unknown) => (typeof value === "string" ? undefined : "must be a string"),
  tools: isObject,
  stores: isStoreSource,
  reducer: hasMethods("reduce"),
  contextProviders: isContextProviders,
  maxSteps: isPositiveInteger,
  persist: runChecks.persist,
  persistPartial: runChecks.persistPartial,
  onConflict: runChecks.onConflict,
  serviceThread: hasMethods("send", "receive"),
  onError: isFunction,
});

/** @throws StoreError `INVALID_ARGUMENT` that names the option and the fix. */
export function checkAgentOptions(options: unknown): asserts options is ChatAgentOptions {
  checkOptions("ChatAgent", options ?? {}, agentChecks);
  const { model, stores, serviceThread } = (options ?? {}) as Partial<ChatAgentOptions>;
  if (model === undefined) invalid(`ChatAgent: model ${isModel(model)}`);
  if (stores !== undefined && serviceThread !== undefined) {
    invalid("ChatAgent: give stores or serviceThread, not both; a history is kept here or by the provider");
  }
}

/** @throws StoreError `INVALID_ARGUMENT` that names the option and the fix. */
export function checkRunOptions(caller: string, options: unknown): asserts options is RunOptions {
  checkOptions(caller, options, runChecks);
}
