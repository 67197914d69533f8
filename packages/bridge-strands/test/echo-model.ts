import { type BaseModelConfig, type Message, Model, type ModelStreamEvent } from "@strands-agents/sdk";

/** A model that needs no key: it answers with the number of messages in its prompt. */
export class EchoModel extends Model {
  updateConfig(): void {}

  getConfig(): BaseModelConfig {
    return { modelId: "echo" };
  }

  async *stream(messages: Message[]): AsyncIterable<ModelStreamEvent> {
    yield { type: "modelMessageStartEvent", role: "assistant" };
    yield { type: "modelContentBlockStartEvent" };
    const text = `${messages.length} messages`;
    yield { type: "modelContentBlockDeltaEvent", delta: { type: "textDelta", text } };
    yield { type: "modelContentBlockStopEvent" };
    yield { type: "modelMessageStopEvent", stopReason: "endTurn" };
  }
}
