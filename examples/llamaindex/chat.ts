import { SimpleChatEngine } from "@llamaindex/core/chat-engine";
import { MockLLM } from "@llamaindex/core/llms/mock";
import { openStores } from "@scrollback/store-core";
import { StoredMemory } from "./memory.ts";

// A chat of a LlamaIndex engine. Run it again: another process continues the chat.

await using stores = await openStores("sqlite:chats.db");
const memory = await StoredMemory.open(stores.open("llamaindex:ada"));
const llm = new MockLLM({ responseMessage: "Line 4." });
const engine = new SimpleChatEngine({ llm, memory });
const { message } = await engine.chat({ message: "Which tram goes to the harbour?" });
console.log(message.content);
console.log((await memory.get()).map(({ role }) => role).join(" "));
