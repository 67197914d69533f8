export { type GoldenOptions, runGolden } from "./run-golden.ts";
export { type GoldenFact, type GoldenFacts, writeGolden } from "./write-golden.ts";
