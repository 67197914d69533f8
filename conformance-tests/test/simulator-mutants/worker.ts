import { type ProfileName, simulate } from "../../src/simulator/index.ts";

// Simulates the driver of a process, which mutated-source.ts has changed, until a run fails.

const { MUTANT_PROFILE, MUTANT_SEED, MUTANT_STEPS } = process.env;
const report = await simulate({
  ...(MUTANT_PROFILE && { profile: MUTANT_PROFILE as ProfileName }),
  seed: Number(MUTANT_SEED),
  steps: Number(MUTANT_STEPS),
});
process.send?.(report);
