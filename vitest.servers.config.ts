import { MatrixReporter } from "@scrollback/conformance/reporter";
import { defineConfig } from "vitest/config";

/** Adapters that are not released yet; `npm run test:next` runs what they have. */
const next = ["packages/store-mongo/**", "packages/store-dynamo/**"];
const isNext = process.env.SCROLLBACK_NEXT === "1";
const tests = ["test/**/*.server.test.ts", "test/**/conformance*.test.ts"];

/** What needs servers, other processes or time: the conformance suite on every backend, faults, the examples. Never cached. */
export default defineConfig({
  test: {
    include: tests.flatMap((pattern) =>
      isNext ? next.map((folder) => folder.replace("**", pattern)) : [`**/${pattern}`],
    ),
    exclude: ["**/node_modules/**", "**/dist/**", "benchmarks/**", ...(isNext ? [] : next)],
    // Each file runs servers and processes of its own; two keep two cores busy.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 180_000,
    reporters: [
      "default",
      ["json", { outputFile: ".results/servers.json" }],
      new MatrixReporter(isNext ? {} : { file: "docs/matrix.md" }),
    ],
  },
});
