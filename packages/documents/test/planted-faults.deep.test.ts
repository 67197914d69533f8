import { expect, test } from "vitest";
import { runMutated } from "../../../test/mutants/run-mutated.ts";
import { mutantsOf } from "../../../test/mutants/table.ts";

// Each runs in a process of its own.
test.concurrent.each(mutantsOf("explorer"))("the explorer sees: $name", async ({ changes, breaks }) => {
  const worker = new URL("explorer/run.ts", import.meta.url);
  expect(await runMutated<string>(worker, changes, { MUTANT_SCOPE: breaks })).toEqual(expect.any(String));
});
