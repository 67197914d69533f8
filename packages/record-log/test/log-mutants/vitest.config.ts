import { defineConfig } from "vitest/config";
import { fromSource } from "../../../../vitest.source.ts";

/** The tests of a record log's verbs on broken logs. log-mutants.test.ts runs them and expects each log to fail. */
export default defineConfig({
  ...fromSource,
  test: {
    root: import.meta.dirname,
    include: ["*.fixture.ts"],
    // A driver on a log that breaks its contract may never return, so the tests with a driver are left out.
    testNamePattern:
      /record log\W+(does what|reads rows|amends (the|no)|keeps the|extends only|leaves the|makes all|lets one|takes a row|returns when|lists|refuses|sends few)/,
    reporters: ["json"],
  },
});
