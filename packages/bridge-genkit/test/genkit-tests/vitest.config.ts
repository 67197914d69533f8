import { createRequire } from "node:module";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { fromSource } from "../../../../vitest.source.ts";

const genkit = join(createRequire(import.meta.url).resolve("@genkit-ai/ai"), "../..");

/** Runs the tests of agents and session stores in Genkit's package on the bridge's session store. Started by run.ts. */
export default defineConfig({
  ...fromSource,
  root: genkit,
  resolve: {
    ...fromSource.resolve,
    alias: [
      {
        find: /^\.\.\/src\/session-stores\.js$/,
        replacement: join(import.meta.dirname, "session-stores.ts"),
      },
      { find: /^node:test$/, replacement: join(import.meta.dirname, "node-test.ts") },
    ],
  },
  test: {
    include: ["tests/agent_test.ts", "tests/session-stores_test.ts"],
    exclude: [],
    server: { deps: { inline: [/@genkit-ai\/(ai|core)\/(src|tests)\//] } },
    testTimeout: 30_000,
    reporters: ["json"],
  },
});
