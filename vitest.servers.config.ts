import { MatrixReporter } from "@scrollback/conformance/reporter";
import { defineConfig } from "vitest/config";

/** Histories of many clients belong to the long plan: now and then the checker does not find the order that there was. */
const isLong = process.env.SCROLLBACK_FIRE === "1";

/** What needs servers, other processes or time: the conformance suite on every backend, faults, the examples. Never cached. */
export default defineConfig({
  test: {
    include: ["**/test/**/*.server.test.ts", "**/test/**/conformance*.test.ts"],
    exclude: [
      "**/node_modules/**",
      "**/dist/**",
      "benchmarks/**",
      ...(isLong ? [] : ["**/history*.server.test.ts"]),
    ],
    // Each file runs servers and processes of its own; two keep two cores busy.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 180_000,
    reporters: [
      "default",
      ["json", { outputFile: ".results/servers.json" }],
      new MatrixReporter({ file: "docs/matrix.md", faultsFile: "docs/faults-measured.md" }),
    ],
  },
});
