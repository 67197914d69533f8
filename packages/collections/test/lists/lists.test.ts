import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { mutate } from "../../../../conformance-tests/test/fixtures/source-mutants/mutate.ts";
import { firstProblem } from "./first-problem.ts";
import { listsMutants } from "./mutants.ts";
import { smallScopes } from "./scopes.ts";

test("every order of small scopes, and random worlds, keep the promises of lists", async () => {
  expect(await firstProblem({ scopes: smallScopes, worlds: [1, 30], isTraced: true })).toBeUndefined();
}, 600_000);

// The simulator runs on the mutants in the deep plan only.
test.each(listsMutants)("the sources have the text of the rule that $rule", ({ changes }) => {
  for (const change of changes) {
    const file = new URL(`../../../${change.file}`, import.meta.url);
    expect(() => mutate(readFileSync(file, "utf8"), change)).not.toThrow();
  }
});
