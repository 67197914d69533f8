import { firstProblem } from "./worlds.ts";

// Runs worlds of directories that mutated-source.ts has changed, and sends the first problem.

const { MUTANT_WORLDS, MUTANT_SUSPENDS } = process.env;
const { problem } = await firstProblem(Number(MUTANT_WORLDS), Boolean(MUTANT_SUSPENDS));
process.send?.({ found: problem });
