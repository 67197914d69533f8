import { type ChatMessage, invalid, isObject } from "@scrollback/store-core";
import type { ToolSet } from "ai";
import { checkMessages } from "../thread/check-messages.ts";
import type { ContextProvider, Invocation, InvocationContext, ProvidedContext } from "./context-provider.ts";

/** What all providers of a run see the same of it. */
export interface RunFacts {
  readonly agentId: string;
  readonly agentName: string | undefined;
  readonly signal: AbortSignal | undefined;
  /** The thread's id as it is now. */
  threadId(): string | undefined;
  onError(error: unknown, context: { source: string }): void;
}

/** The providers of one run: asked once in their order, told once how it ended. */
export class Invocations {
  readonly instructions: string[] = [];
  readonly messages: ChatMessage[] = [];
  readonly tools: ToolSet = {};
  readonly #providers: readonly ContextProvider[];
  readonly #facts: RunFacts;
  /** How many providers were asked: only those are told how it ended. */
  #asked = 0;

  constructor(providers: readonly ContextProvider[], agentTools: ToolSet, facts: RunFacts) {
    this.#providers = providers;
    this.#facts = facts;
    Object.assign(this.tools, agentTools);
  }

  /** @throws what a provider throws, and StoreError `INVALID_ARGUMENT` for what it must not return. */
  async ask(input: readonly ChatMessage[]): Promise<void> {
    for (const [index, provider] of this.#providers.entries()) {
      this.#asked = index + 1;
      const name = `contextProviders[${index}].invoking`;
      const provided = await provider.invoking?.([...input], this.#contextOf(name));
      if (provided != null) this.#take(provided, name);
    }
  }

  #take(provided: ProvidedContext, name: string): void {
    const problem = isObject(provided);
    if (problem) invalid(`${name}: what it returns ${problem}`);
    const { instructions, messages = [], tools = {} } = provided;
    if (instructions !== undefined && typeof instructions !== "string") {
      invalid(`${name}: instructions must be a string`);
    }
    if (!Array.isArray(messages)) invalid(`${name}: messages must be a list of messages`);
    checkMessages(`${name}: messages`, messages);
    const taken = Object.keys(tools).find((tool) => Object.hasOwn(this.tools, tool));
    if (taken !== undefined) {
      invalid(`${name}: tools has "${taken}", a name that the agent or a provider before has; rename one`);
    }
    if (instructions) this.instructions.push(instructions);
    this.messages.push(...messages);
    Object.assign(this.tools, tools);
  }

  /** Tells every provider that was asked. What one throws is reported. */
  async tell(invocation: Invocation): Promise<void> {
    for (const [index, provider] of this.#providers.slice(0, this.#asked).entries()) {
      const name = `contextProviders[${index}].invoked`;
      try {
        await provider.invoked?.(invocation, this.#contextOf(name));
      } catch (error) {
        this.#facts.onError(error, { source: name });
      }
    }
  }

  #contextOf(source: string): InvocationContext {
    const { agentId, agentName, signal, onError } = this.#facts;
    const threadId = this.#facts.threadId();
    return {
      agentId,
      ...(agentName !== undefined && { agentName }),
      ...(threadId !== undefined && { threadId }),
      ...(signal !== undefined && { signal }),
      injected: [...this.messages],
      report: (error) => onError(error, { source }),
    };
  }
}
