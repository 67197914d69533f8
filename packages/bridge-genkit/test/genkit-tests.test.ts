import { expect, test } from "vitest";
import { scratchUrl } from "../../../conformance-tests/test/fixtures/scratch-url.ts";
import { runGenkitTests } from "./genkit-tests/run.ts";

const url = scratchUrl();

test.each([
  ["memory", "memory:"],
  ["SQLite", url],
])(
  "Genkit's own 126 tests of agents and session stores pass on %s",
  async (_, stores) => {
    expect(await runGenkitTests(stores)).toEqual({ passed: 126, failed: [] });
  },
  120_000,
);
