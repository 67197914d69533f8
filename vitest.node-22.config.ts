import { MatrixReporter } from "@scrollback/conformance/reporter";
import { defineConfig } from "vitest/config";

if (!process.versions.node.startsWith("22.")) {
  throw new Error(`this is Node ${process.versions.node}; run: npm run test:compatibility`);
}

/** The suite on the oldest major of Node that is supported, on backends that lean on Node the most. Never cached. */
export default defineConfig({
  test: {
    include: [
      "conformance-tests/test/conformance-{memory,record-log}.test.ts",
      "packages/store-{redis,sqlite}/test/conformance.test.ts",
    ],
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 180_000,
    reporters: [
      "default",
      ["json", { outputFile: ".results/node-22.json" }],
      new MatrixReporter({ file: "docs/matrix-node-22.md" }),
    ],
  },
});
