import { createRequire } from "node:module";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

const genkit = join(createRequire(import.meta.url).resolve("@genkit-ai/ai"), "../..");

/** Genkit's own tests of agents and session stores, as its package holds them, on our session store. Started by genkit-tests.ts. */
export default defineConfig({
  root: genkit,
  resolve: {
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
