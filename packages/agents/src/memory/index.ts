export type { ExtractFunction, ExtractModel, Turn } from "./extract.ts";
export type { Mem0Client, Mem0Scope } from "./mem0-client.ts";
export { Mem0Memory, type Mem0MemoryOptions } from "./mem0-memory.ts";
export type { OnFailure } from "./remembered.ts";
export { StoreMemory, type StoreMemoryOptions } from "./store-memory.ts";
