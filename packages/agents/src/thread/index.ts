export { AgentThread, type AgentThreadOptions } from "./agent-thread.ts";
export type { ThreadState } from "./thread-state.ts";
export type { StoreSource, ThreadStore } from "./thread-store.ts";
