import type { ChatMessage } from "@scrollback/store-core";
import type { StepResult, ToolSet } from "ai";

/** Sends the id of a provider's history to the provider, and receives it. */
export interface ServiceThread {
  /** The provider options that make a request continue this history. */
  send(serviceThreadId: string): NonNullable<ChatMessage["providerOptions"]>;
  /** The id to continue with, from the last step of a run. Undefined if the provider returned none; then the run fails. */
  receive(result: StepResult<ToolSet>): string | undefined;
}

/**
 * OpenAI's Responses API: each response has an id, and the next request refers to it as the previous response. The provider
 * must store responses, which is its default.
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
