import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mutated, sourceMutants } from "../../test/mutants/source-mutants.ts";

const packages = join(import.meta.dirname, "../../packages");

// The suite runs on the mutants much later, when the servers are there.
test.each(sourceMutants)("the source has the text of the mutant: $name", (mutant) => {
  expect(() => mutated(readFileSync(join(packages, mutant.file), "utf8"), mutant)).not.toThrow();
});
