import { defineConfig } from "vitest/config";

/** What is pure: no server, no other process. Run in each package by turbo, which remembers the outcome. */
export default defineConfig({
  test: {
    // A second, the default, is too short on a busy machine.
    expect: { poll: { timeout: 30_000 } },
    include: ["test/**/*.test.ts", "demo/**/*.test.ts"],
    exclude: ["test/**/*.server.test.ts", "test/**/conformance*.test.ts", "**/node_modules/**"],
    reporters: ["default", ["json", { outputFile: ".results/unit.json" }]],
    passWithNoTests: true,
    // Property tests take their time on a busy machine.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
