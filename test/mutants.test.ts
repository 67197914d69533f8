import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { clauses } from "../conformance-tests/src/clauses/index.ts";
import { mutantsOf, mutated, titleOf } from "./mutants/table.ts";

const mutants = mutantsOf();

// The tests run on the mutants much later, when the servers are there.
test.each(mutants.map((mutant) => [titleOf(mutant), mutant] as const))(
  "the sources have the texts of the mutant %s",
  (_, { changes }) => {
    for (const file of new Set(changes.map((change) => change.file))) {
      const source = readFileSync(join(import.meta.dirname, "..", file), "utf8");
      const own = changes.filter((change) => change.file === file);
      expect(() => own.reduce(mutated, source)).not.toThrow();
    }
    expect(changes.length).toBeGreaterThan(0);
  },
);

test("every clause has a mutant, and no two have one name", () => {
  const broken = new Set(mutants.map(({ breaks }) => breaks));
  expect(Object.keys(clauses).filter((id) => !broken.has(id))).toEqual([]);
  expect(new Set(mutants.map(titleOf)).size).toBe(mutants.length);
});
