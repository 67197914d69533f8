import {
  type DefaultMessageMetadataByModality,
  EventType,
  type StreamChunk,
  type TextOptions,
} from "@tanstack/ai";
import { BaseTextAdapter } from "@tanstack/ai/adapters";

/** A model that needs no key; use the adapter of your provider instead. */
export class EchoModel extends BaseTextAdapter<
  "echo",
  object,
  readonly ["text"],
  DefaultMessageMetadataByModality
> {
  readonly name = "echo";

  async *chatStream({ messages }: TextOptions): AsyncIterable<StreamChunk> {
    const [messageId, threadId, runId] = [this.generateId(), this.generateId(), this.generateId()];
    const delta = `That was your message ${messages.filter(({ role }) => role === "user").length}.`;
    yield { type: EventType.RUN_STARTED, threadId, runId };
    yield { type: EventType.TEXT_MESSAGE_START, messageId, role: "assistant" };
    yield { type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta };
    yield { type: EventType.TEXT_MESSAGE_END, messageId };
    yield { type: EventType.RUN_FINISHED, threadId, runId };
  }

  async structuredOutput(): Promise<never> {
    throw new Error("EchoModel has no structured output");
  }
}
