import { defineConfig } from "vitest/config";
import { MatrixReporter } from "./conformance-tests/src/reporter.ts";
import { fromSource } from "./vitest.source.ts";

const { bun, deno } = process.versions;
const name = bun ? "bun" : deno ? "deno" : undefined;
if (name === undefined) throw new Error("this is Node.js; run: node scripts/suite-on-runtime.ts bun");

/** The suite and the chats' contract on Bun and Deno, which `scripts/suite-on-runtime.ts` starts. */
export default defineConfig({
  ...fromSource,
  test: {
    // A second, the default, is too short on a busy machine.
    expect: { poll: { timeout: 30_000 } },
    include: [
      "conformance-tests/test/conformance-memory.test.ts",
      "packages/store-sqlite/test/conformance.test.ts",
      "packages/store-redis/test/conformance.server.test.ts",
      "packages/store-postgres/test/conformance.deep.test.ts",
      "packages/chats/test/contract{,.server,-sql.deep}.test.ts",
    ],
    setupFiles: "./conformance-tests/test/fixtures/end-file.ts",
    // Bun's child processes lack `channel.unref`, which Vitest's other pool calls.
    pool: bun ? "threads" : "forks",
    // A run with two workers did not end on Deno.
    maxWorkers: bun ? 2 : 1,
    testTimeout: 180_000,
    hookTimeout: 180_000,
    reporters: [
      "default",
      ["json", { outputFile: `.results/${name}.json` }],
      new MatrixReporter({ file: `docs/generated/matrix-${name}.md` }),
    ],
  },
});
