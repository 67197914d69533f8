export * from "./agent/index.ts";
export * from "./context/index.ts";
export * from "./memory/index.ts";
export * from "./thread/index.ts";
