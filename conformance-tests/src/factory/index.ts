export { type FactoryTestOptions, type HandedIn, type Refusal, runFactory } from "./run-factory.ts";
