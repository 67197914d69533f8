import { MatrixReporter } from "@scrollback/conformance/reporter";
import { defineConfig } from "vitest/config";

const { node } = process.versions;
if (!node.startsWith("22.")) throw new Error(`this is Node ${node}; run: npm run test:deep`);
/** The oldest Node that the packages take, else whichever is the newest Node 22. */
const isOldest = node === "22.13.0";
const name = isOldest ? "node-22.13" : "node-22";
// The other processes of a test read TypeScript, which before Node 22.18 they do only when told to.
process.env.NODE_OPTIONS = "--experimental-strip-types";

/** The suite on older versions of Node, on the backends that lean on Node the most. Never cached. */
export default defineConfig({
  test: {
    // A second, the default, is too short on a busy machine.
    expect: { poll: { timeout: 30_000 } },
    include: [
      "conformance-tests/test/conformance-memory.test.ts",
      "packages/{documents,store-sqlite}/test/conformance.test.ts",
      // Testcontainers, which starts its servers, takes no Node so old.
      ...(isOldest ? [] : ["packages/store-redis/test/conformance{.server,-cluster.deep}.test.ts"]),
    ],
    setupFiles: "./conformance-tests/test/fixtures/end-file.ts",
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 180_000,
    reporters: [
      "default",
      ["json", { outputFile: `.results/${name}.json` }],
      new MatrixReporter({ file: `docs/generated/matrix-${name}.md` }),
    ],
  },
});
