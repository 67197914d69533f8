export type { HandedIn } from "./handed-in.ts";
export type { ProxiedServer } from "./proxied.ts";
export { type FactoryTestOptions, type Refusal, runFactory } from "./run-factory.ts";
