export { AgentThread, type AgentThreadOptions } from "./agent-thread.ts";
export type { StoreSource } from "./store-source.ts";
export type { ThreadState } from "./thread-state.ts";
export type { ThreadStore } from "./thread-store.ts";
