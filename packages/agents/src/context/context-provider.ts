import { type ChatMessage, type Check, hasMethods, isFunction } from "@scrollback/store-core";
import type { ToolSet } from "ai";

/** What a provider may know of the run that it is asked in. */
export interface InvocationContext {
  readonly agentId: string;
  readonly agentName?: string;
  /** The store's id of the thread, or the service's; absent without a thread, or where nobody gave it an id yet. */
  readonly threadId?: string;
  /** The run's signal: what a provider waits for should end with it. */
  readonly signal?: AbortSignal;
  /** What the providers before this one have added to the request; in `invoked` what all have. */
  readonly injected: readonly ChatMessage[];
  /** Tells the agent's `onError` of a failure that is not to fail the run. */
  report(error: unknown): void;
}

/** What a provider adds to one request. None of it is stored. */
export interface ProvidedContext {
  /** Joined to the agent's instructions by a newline. */
  readonly instructions?: string;
  /** Put between the history and the new input. */
  readonly messages?: readonly ChatMessage[];
  /** Offered to the model beside the agent's. A name that is taken fails the run with `INVALID_ARGUMENT`. */
  readonly tools?: ToolSet;
}

/** One run as it ended. */
export interface Invocation {
  /** The new input. */
  readonly request: readonly ChatMessage[];
  /** What the model said and its tools gave back, of a run that succeeded. */
  readonly response?: readonly ChatMessage[];
  /** Why the run failed; `ABORTED` for one that was cancelled. Nothing was stored then, or only whole earlier steps. */
  readonly error?: unknown;
}

/**
 * Dynamic memory: asked before each run what the model should know now, told after each run what came of it. Providers
 * are asked in their order, one after another. They see what came from outside (input, model output), not what other
 * providers added, unless they look at {@link InvocationContext.injected}.
 *
 * @example
 * const clock: ContextProvider = {
 *   invoking: async () => ({ instructions: `It is ${new Date().toISOString()}.` }),
 * };
 */
export interface ContextProvider {
  /** Called once for a thread, when it first has an id. A failure fails the run. */
  threadCreated?(threadId: string): void | Promise<void>;
  /** Before the model is asked. `messages` are the new input. A failure fails the run. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a provider that adds nothing is written without a return
  invoking?(messages: readonly ChatMessage[], context: InvocationContext): Promise<ProvidedContext | void>;
  /** After the turn is stored, and after a failure, with the error. A failure is reported and undoes nothing. */
  invoked?(invocation: Invocation, context: InvocationContext): Promise<void>;
  /** What the thread's state is to keep for this provider: plain JSON. */
  serialize?(): Promise<unknown>;
  /** Takes what `serialize` gave, when the thread is restored. */
  updateFromState?(state: unknown): Promise<void>;
  /** Frees what the provider opened. */
  close?(): Promise<void>;
}

/** Providers that all threads of an agent share, or a function that makes a thread its own. */
export type ContextProviders = readonly ContextProvider[] | (() => readonly ContextProvider[]);

const methods = ["threadCreated", "invoking", "invoked", "serialize", "updateFromState", "close"] as const;

/** A list of context providers. */
export const isProviderList: Check = (value) => {
  if (!Array.isArray(value)) return "must be a list of context providers, or a function that returns one";
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
