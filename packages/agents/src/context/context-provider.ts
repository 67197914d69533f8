import type { ChatMessage } from "@scrollback/store-core";
import { type Check, hasMethods } from "@scrollback/store-core/driver";
import { isFunction } from "@scrollback/store-core/internal";
import type { ToolSet } from "ai";

/** The facts about the current run that a provider receives. */
export interface InvocationContext {
  readonly agentId: string;
  readonly agentName?: string;
  /** The id of the thread, from its store or from the provider; absent without a thread, or while it has no id. */
  readonly threadId?: string;
  /** The run's signal. A provider must stop waiting when it is aborted. */
  readonly signal?: AbortSignal;
  /** The messages that the providers before this one added; in `invoked`, those of all providers. */
  readonly injected: readonly ChatMessage[];
  /** Reports an error to the agent's `onError` without failing the run. */
  report(error: unknown): void;
}

/** The additions of a provider to one request. None of them is stored. */
export interface ProvidedContext {
  /** Appended to the agent's instructions after a newline. */
  readonly instructions?: string;
  /** Inserted between the history and the new input. */
  readonly messages?: readonly ChatMessage[];
  /** Offered to the model with the agent's tools. A name that exists already fails the run with `INVALID_ARGUMENT`. */
  readonly tools?: ToolSet;
}

/** A finished run. */
export interface Invocation {
  /** The new input. */
  readonly request: readonly ChatMessage[];
  /** The messages of the model and its tools, if the run succeeded. */
  readonly response?: readonly ChatMessage[];
  /** Why the run failed; `ABORTED` if it was cancelled. Then nothing was stored, or only complete earlier steps. */
  readonly error?: unknown;
}

/**
 * Dynamic context: `invoking` supplies what the model should know before each run, `invoked` receives the result. Providers
 * are called one after another, in order. They see the input and the model's output, but the additions of other providers
 * only in {@link InvocationContext.injected}.
 *
 * @example
 * const clock: ContextProvider = {
 *   invoking: async () => ({ instructions: `It is ${new Date().toISOString()}.` }),
 * };
 */
export interface ContextProvider {
  /** Called once, when the thread first has an id. An error fails the run. */
  threadCreated?(threadId: string): void | Promise<void>;
  /** Called before the model is asked, with the new input. An error fails the run. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a provider that adds nothing is written without a return
  invoking?(messages: readonly ChatMessage[], context: InvocationContext): Promise<ProvidedContext | void>;
  /** Called after the turn is stored, or with the error after a failure. An error is reported and undoes nothing. */
  invoked?(invocation: Invocation, context: InvocationContext): Promise<void>;
  /** Returns this provider's part of the thread's state: plain JSON. */
  serialize?(): Promise<unknown>;
  /** Receives what `serialize` returned when the thread is restored. */
  updateFromState?(state: unknown): Promise<void>;
  /** Releases the provider's resources. */
  close?(): Promise<void>;
}

/** Providers shared by all threads of an agent, or a function that creates providers for a thread. */
export type ContextProviders = readonly ContextProvider[] | (() => readonly ContextProvider[]);

const methods = ["threadCreated", "invoking", "invoked", "serialize", "updateFromState", "close"] as const;

/** A list of context providers. */
export const isProviderList: Check = (value) => {
  if (!Array.isArray(value)) return "must be an array of context providers, or a function that returns one";
  for (const [index, provider] of value.entries()) {
    const problem = hasMethods()(provider);
    if (problem) return `[${index}] ${problem}`;
    const wrong = methods.find((name) => provider[name] !== undefined && isFunction(provider[name]));
    if (wrong) return `[${index}].${wrong} must be a function`;
    if (!methods.some((name) => provider[name])) return `[${index}] must have one of ${methods.join(", ")}`;
  }
  return undefined;
};

/** A list of context providers, or a function that makes one. */
export const isContextProviders: Check = (value) =>
  typeof value === "function" ? undefined : isProviderList(value);
