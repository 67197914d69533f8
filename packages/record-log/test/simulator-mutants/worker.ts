import { DirectedRun } from "../../src/simulator/directed-run.ts";
import { SimulationFailure } from "../../src/simulator/failure.ts";
import { simulate } from "../../src/simulator/index.ts";
import type { ProfileName } from "../../src/simulator/profiles.ts";
import { explore } from "../explorer/explore.ts";
import { smallScopes } from "../explorer/scopes.ts";
import { scenes } from "./scenes.ts";

// Simulates the driver of a process, which mutated-source.ts has changed, and sends the problem that it found.

const { MUTANT_SCENE, MUTANT_SCOPE, MUTANT_PROFILE, MUTANT_SEED, MUTANT_STEPS } = process.env;
process.send?.({ found: await find() });

async function find() {
  if (MUTANT_SCENE !== undefined) return await follow(MUTANT_SCENE);
  return MUTANT_SCOPE === undefined ? await drawRuns() : await exploreScope(MUTANT_SCOPE);
}

async function exploreScope(name: string) {
  const scope = smallScopes.find((one) => one.name === name);
  if (!scope) throw new RangeError(`there is no scope "${name}"`);
  const { found } = await explore(scope);
  return found && { rule: "explored", message: found.message };
}

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
