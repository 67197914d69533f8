import { DirectedRun } from "../../src/simulator/directed-run.ts";
import { type ProfileName, SimulationFailure, simulate } from "../../src/simulator/index.ts";
import { scenes } from "./scenes.ts";

// Simulates the driver of a process, which mutated-source.ts has changed, and sends the problem that it found.

const { MUTANT_SCENE, MUTANT_PROFILE, MUTANT_SEED, MUTANT_STEPS } = process.env;
const found = MUTANT_SCENE === undefined ? await drawRuns() : await follow(MUTANT_SCENE);
process.send?.({ found });

async function drawRuns() {
  const { failures } = await simulate({
    profile: MUTANT_PROFILE as ProfileName,
    seed: Number(MUTANT_SEED),
    steps: Number(MUTANT_STEPS),
  });
  return failures[0];
}

async function follow(name: string) {
  const scene = scenes[name];
  if (!scene) throw new RangeError(`there is no scene "${name}"`);
  try {
    await new DirectedRun().run(scene);
  } catch (error) {
    if (error instanceof SimulationFailure) return { rule: error.rule, message: error.message };
    throw error;
  }
  return undefined;
}
