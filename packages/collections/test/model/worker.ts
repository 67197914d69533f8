import { firstProblem } from "./worlds.ts";

// Runs worlds of directories that mutated-source.ts has changed, and sends the first problem.

const { MUTANT_WORLDS, MUTANT_SUSPENDS, MUTANT_SEED = 1 } = process.env;
const { problem, seed } = await firstProblem(
  Number(MUTANT_WORLDS),
  Boolean(MUTANT_SUSPENDS),
  {},
  Number(MUTANT_SEED),
);
process.send?.({ found: problem && `${seed}: ${problem}` });
