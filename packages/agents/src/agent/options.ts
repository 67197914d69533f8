import {
  type Check,
  checkOptions,
  hasMethods,
  invalid,
  isId,
  isObject,
  isOneOf,
  isString,
} from "@scrollback/store-core/driver";
import {
  emitWarning,
  isBoolean,
  isFunction,
  isPositiveInteger,
  isSignal,
  isText,
} from "@scrollback/store-core/internal";
import type { LanguageModel, ToolSet } from "ai";
import { type ContextProviders, isContextProviders } from "../context/context-provider.ts";
import { AgentThread } from "../thread/agent-thread.ts";
import { isStoreSource, type StoreSource } from "../thread/store-source.ts";
import type { HistoryReducer } from "./history-reducer.ts";
import type { ServiceThread } from "./service-thread.ts";

/** When the answer of a run is stored: at its end, or after each step of the model. */
export type Persist = "onSuccess" | "eachStep";

/** What happens to a run when another writer changed its thread meanwhile. */
export type OnConflict = "fail" | "append";

/** The source of an error that did not fail a run. */
interface ErrorContext {
  /** For example `contextProviders[0].invoked`. */
  readonly source: string;
}

/** Options of {@link ChatAgent}. */
export interface ChatAgentOptions {
  /** A model of the AI SDK, or the id of one. */
  model: LanguageModel;
  /** Default: a new UUID. */
  id?: string;
  name?: string;
  /** Sent to the model before the conversation in every run. Never stored. */
  instructions?: string;
  /** The AI SDK's tools. */
  tools?: ToolSet;
  /** Where threads are stored. Default: in memory, each thread as long as it is referenced. */
  stores?: StoreSource;
  /** Shortens the history that the model sees; the stored history stays whole. Default: the model sees the whole history. */
  reducer?: HistoryReducer;
  /** Providers shared by all threads, or a function that creates providers for each thread. Default: none. */
  contextProviders?: ContextProviders;
  /** The maximum number of model steps in one run, a positive integer. Default 20. */
  maxSteps?: number;
  /**
   * When the answer is stored. `"onSuccess"` (default): in one write when the run ends. `"eachStep"`: after each step in
   * which every tool call has its result, so tool results survive a crash. In both modes the input is stored before the
   * model is asked, and the finished steps of a failed or cancelled run are kept.
   */
  persist?: Persist;
  /**
   * Also stores the text that a failed or cancelled step has streamed, as an assistant message with `metadata: { partial:
   * true }`. The model sees that message once a user message follows it. Default false.
   */
  persistPartial?: boolean;
  /**
   * `"fail"` (default): a run fails with `CONFLICT` while another run is active on the same thread object, or when another
   * writer changed the thread since this object last read or wrote it. `"append"`: the run adds its messages anyway.
   */
  onConflict?: OnConflict;
  /**
   * For histories that the model's provider keeps. Cannot be combined with `stores`: a new thread would not know where its
   * history belongs. An application that needs both uses two agents, or passes a store to the thread (`getNewThread({
   * messageStore })`).
   */
  serviceThread?: ServiceThread;
  /** Receives errors that do not fail a run. Default: a process warning. */
  onError?: (error: unknown, context: ErrorContext) => void;
}

/** Options of a run. */
export interface RunOptions {
  /**
   * The thread to continue, or its id in the agent's `stores`, which must then be a store factory. Default: none; nothing
   * is stored.
   */
  thread?: AgentThread | string;
  /** Cancels the run, which then rejects with `ABORTED`. A write that has started is finished. */
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
  instructions: isText,
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
  checkOptions("ChatAgent", options, agentChecks, ["model"]);
  const { stores, serviceThread } = options as ChatAgentOptions;
  if (stores !== undefined && serviceThread !== undefined) {
    invalid("ChatAgent: stores and serviceThread cannot be combined; give one of them");
  }
}

/** @throws StoreError `INVALID_ARGUMENT` that names the option and the fix. */
export function checkRunOptions(caller: string, options: unknown): asserts options is RunOptions {
  checkOptions(caller, options, runChecks);
}

/** Reports an error when there is no listener. */
export function warn(error: unknown, { source }: { source: string }): void {
  const message = error instanceof Error ? error.message : String(error);
  emitWarning(`${source}: ${message}`);
}
