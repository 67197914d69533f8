import type { ProviderOptions } from "@scrollback/store-core";
import type { StepResult, ToolSet } from "ai";

/** How the id of a history that the model's provider keeps goes to the provider and comes back. */
export interface ServiceThread {
  /** The provider's options that make a request go on with this history. */
  send(serviceThreadId: string): ProviderOptions;
  /** The id to go on with, from the last step of a run; undefined where the provider gave none, which fails the run. */
  receive(result: StepResult<ToolSet>): string | undefined;
}

/**
 * OpenAI's Responses API: each response has an id, and the next request names it as the previous one. Responses must be
 * stored there, which is the provider's default.
 *
 * @example
 * const agent = new ChatAgent({ model: openai("gpt-5"), serviceThread: openaiResponses });
 */
export const openaiResponses: ServiceThread = Object.freeze({
  send: (serviceThreadId: string) => ({ openai: { previousResponseId: serviceThreadId } }),
  receive(result: StepResult<ToolSet>) {
    const id = result.providerMetadata?.openai?.responseId;
    return typeof id === "string" ? id : undefined;
  },
});
