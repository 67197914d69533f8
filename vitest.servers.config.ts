import { MatrixReporter } from "@scrollback/conformance/reporter";
import { defineConfig } from "vitest/config";

/** What needs servers, other processes or time: the conformance suite on every backend, faults, the examples. Never cached. */
export default defineConfig({
  test: {
    // A second, the default, is too short on a busy machine.
    expect: { poll: { timeout: 30_000 } },
    include: ["**/test/**/*.server.test.ts", "**/test/**/conformance*.test.ts"],
    exclude: ["**/node_modules/**", "**/dist/**", "benchmarks/**"],
    // Each file runs servers and processes of its own; two keep two cores busy.
    maxWorkers: 2,
    testTimeout: 180_000,
    hookTimeout: 300_000,
    reporters: [
      "default",
      ["json", { outputFile: ".results/servers.json" }],
      new MatrixReporter({
        file: "docs/generated/matrix.md",
        faultsFile: "docs/generated/faults-measured.md",
      }),
    ],
  },
});
