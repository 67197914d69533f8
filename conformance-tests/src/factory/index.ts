export type { ProxiedServer } from "./proxied.ts";
export { type FactoryTestOptions, type HandedIn, type Refusal, runFactory } from "./run-factory.ts";
