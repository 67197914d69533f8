import { defineConfig } from "vitest/config";

/** The tests of a record log's verbs on logs that are broken: run by log-mutants.test.ts, which expects each to fail. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.fixture.ts"],
    // A driver over a log that breaks its contract may never come to an end, so those tests are left out.
    testNamePattern: /record log\W+(does what|reads numbers|amends what|keeps what|lets one|takes a row)/,
    reporters: ["json"],
  },
});
