// What the tests of Genkit take from node:test.
export { describe, it } from "vitest";
