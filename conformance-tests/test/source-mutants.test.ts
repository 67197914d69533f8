import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mutated, sourceMutants } from "../../test/mutants/source-mutants.ts";
import { clauses } from "../src/clauses/index.ts";
import { mutants } from "./mutants/index.ts";

const packages = join(import.meta.dirname, "../../packages");

// The suite runs on the mutants much later, when the servers are there.
test.each(sourceMutants)("the source has the text of the mutant: $name", (mutant) => {
  expect(() => mutated(readFileSync(join(packages, mutant.file), "utf8"), mutant)).not.toThrow();
});

test("every clause has a mutant", () => {
  const broken = new Set([...mutants, ...sourceMutants].map(({ breaks }) => breaks));
  const ids = Object.keys(clauses).filter((id) => /^C\d+$/.test(id));
  expect(ids.filter((id) => !broken.has(id))).toEqual([]);
});
