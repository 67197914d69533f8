export { ChatAgent } from "./agent/chat-agent.ts";
export { openaiResponses, type ServiceThread } from "./agent/service-thread.ts";
export type {
  ContextProvider,
  Invocation,
  InvocationContext,
  ProvidedContext,
} from "./context/context-provider.ts";
export { Mem0Memory } from "./memory/mem0-memory.ts";
export { StoreMemory } from "./memory/store-memory.ts";
export { AgentThread } from "./thread/agent-thread.ts";
export type { ThreadStore } from "./thread/thread-store.ts";
