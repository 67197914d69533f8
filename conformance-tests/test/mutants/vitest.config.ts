import { defineConfig } from "vitest/config";

/** The suite on backends that are broken: run by conformance-mutants.test.ts, which expects it to fail. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.fixture.ts"],
    // They wait more than they work.
    maxWorkers: 3,
    maxConcurrency: 20,
    reporters: ["json"],
  },
});
