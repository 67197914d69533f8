// Replaces node:test for the tests of Genkit.
export { describe, it } from "vitest";
