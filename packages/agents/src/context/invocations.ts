import type { ChatMessage } from "@scrollback/store-core";
import { invalid, isObject } from "@scrollback/store-core/driver";
import { checkValue, isText } from "@scrollback/store-core/internal";
import type { ToolSet } from "ai";
import { checkMessages } from "../messages.ts";
import type { ContextProvider, Invocation, InvocationContext, ProvidedContext } from "./context-provider.ts";

/** The facts that all providers of a run receive. */
export interface RunFacts {
  readonly agentId: string;
  readonly agentName: string | undefined;
  readonly signal: AbortSignal | undefined;
  /** The thread's current id. */
  threadId(): string | undefined;
  onError(error: unknown, context: { source: string }): void;
}

/** The providers of one run: each is asked once, in order, and informed once of the result. */
export class Invocations {
  readonly instructions: string[] = [];
  readonly messages: ChatMessage[] = [];
  readonly tools: ToolSet = {};
  readonly #providers: readonly ContextProvider[];
  readonly #facts: RunFacts;
  /** The number of providers that were asked. Only those are informed of the result. */
  #asked = 0;

  constructor(providers: readonly ContextProvider[], agentTools: ToolSet, facts: RunFacts) {
    this.#providers = providers;
    this.#facts = facts;
    Object.assign(this.tools, agentTools);
  }

  /** @throws what a provider throws, and StoreError `INVALID_ARGUMENT` for an invalid result. */
  async ask(input: readonly ChatMessage[]): Promise<void> {
    for (const [index, provider] of this.#providers.entries()) {
      this.#asked = index + 1;
      const name = `contextProviders[${index}].invoking`;
      const provided = await provider.invoking?.([...input], this.#contextOf(name));
      if (provided != null) this.#take(provided, name);
    }
  }

  #take(provided: ProvidedContext, name: string): void {
    checkValue(name, "result", isObject, provided);
    const { instructions, messages = [], tools = {} } = provided;
    if (instructions !== undefined) checkValue(name, "instructions", isText, instructions);
    checkMessages(`${name}: messages`, messages);
    const taken = Object.keys(tools).find((tool) => Object.hasOwn(this.tools, tool));
    if (taken !== undefined) {
      invalid(`${name}: tools.${taken} has the name of an existing tool; rename one`);
    }
    if (instructions) this.instructions.push(instructions);
    this.messages.push(...messages);
    Object.assign(this.tools, tools);
  }

  /** Informs every provider that was asked. Errors are reported. */
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
