import { expect, test } from "vitest";
import { runMutated } from "../../../conformance-tests/test/fixtures/source-mutants/run-mutated.ts";
import { faults } from "./explorer/planted-faults.ts";

// Each runs in a process of its own.
test.concurrent.each(faults)("the explorer sees: $name", async ({ changes, scope }) => {
  const worker = new URL("explorer/run.ts", import.meta.url);
  expect(await runMutated<string>(worker, changes, { MUTANT_SCOPE: scope })).toEqual(expect.any(String));
});
