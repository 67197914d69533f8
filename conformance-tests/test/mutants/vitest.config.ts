import { defineConfig } from "vitest/config";
import { fromSource } from "../../../vitest.source.ts";

/** The suite on broken backends: run by conformance-mutants.test.ts, which expects it to fail. */
export default defineConfig({
  ...fromSource,
  test: {
    root: import.meta.dirname,
    include: ["*.fixture.ts"],
    // The tests mostly wait.
    maxWorkers: 3,
    maxConcurrency: 20,
    reporters: ["json"],
  },
});
