import { MatrixReporter } from "@scrollback/conformance/reporter";
import { defineConfig } from "vitest/config";

/** The suite on what else an adapter supports, beside what every run covers: older servers, other clients, newer frameworks. Never cached. */
export default defineConfig({
  test: {
    // A second, the default, is too short on a busy machine.
    expect: { poll: { timeout: 30_000 } },
    include: ["**/test/**/*.compatibility.ts"],
    exclude: ["**/node_modules/**", "**/dist/**", "benchmarks/**", ".results/**"],
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 180_000,
    reporters: [
      "default",
      ["json", { outputFile: ".results/compatibility.json" }],
      new MatrixReporter({ file: "docs/generated/matrix-servers.md" }),
    ],
  },
});
