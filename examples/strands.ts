import { ScrollbackStorage } from "@scrollback/bridge-strands";
import { openStores } from "@scrollback/store-core";
import {
  Agent,
  type BaseModelConfig,
  type Message,
  Model,
  type ModelStreamEvent,
  SessionManager,
} from "@strands-agents/sdk";

// A chat of a Strands agent. Run it again: another process continues the session.

/** A model that needs no key; give the agent a real one instead. */
class EchoModel extends Model {
  updateConfig(): void {}

  getConfig(): BaseModelConfig {
    return { modelId: "echo" };
  }

  async *stream(messages: Message[]): AsyncIterable<ModelStreamEvent> {
    const text = `That was your message ${messages.filter(({ role }) => role === "user").length}.`;
    yield { type: "modelMessageStartEvent", role: "assistant" };
    yield { type: "modelContentBlockStartEvent" };
    yield { type: "modelContentBlockDeltaEvent", delta: { type: "textDelta", text } };
    yield { type: "modelContentBlockStopEvent" };
    yield { type: "modelMessageStopEvent", stopReason: "endTurn" };
  }
}

await using stores = await openStores("sqlite:chats.db");
await using storage = new ScrollbackStorage({ stores });
const sessionManager = new SessionManager({ sessionId: "ada", storage });
const agent = new Agent({ model: new EchoModel(), sessionManager, printer: false });
console.log((await agent.invoke("Which tram goes to the harbour?")).toString().trim());
console.log((await storage.list("session/ada/")).length > 0);
