import { describe, expect, test } from "vitest";
import { runMutated } from "../../../conformance-tests/test/fixtures/source-mutants/run-mutated.ts";
import { DirectedRun } from "../src/simulator/directed-run.ts";
import { runSimulation } from "../src/simulator/index.ts";
import type { FailedRun } from "../src/simulator/report.ts";
import { deletionMutants } from "./simulator-mutants/deletion-mutants.ts";
import { directedMutants } from "./simulator-mutants/directed-mutants.ts";
import type { Mutant } from "./simulator-mutants/mutant.ts";
import { mutants } from "./simulator-mutants/mutants.ts";
import { scenes } from "./simulator-mutants/scenes.ts";
import { sharingMutants } from "./simulator-mutants/sharing-mutants.ts";

/**
 * The first run of a mutant detects it, as long as the driver makes the same requests. After a change of the driver, a later run
 * may be the first to detect it.
 */
const STEPS = 100_000;

const allMutants = [...mutants, ...directedMutants, ...deletionMutants, ...sharingMutants];

/** The problem that a run found; the options replay a random run. */
type Found = Pick<FailedRun, "rule" | "message"> & Partial<Pick<FailedRun, "options">>;

// Each runs in a process of its own.
test.concurrent.each(allMutants)("the simulator fails a driver without: $rule", async (mutant) => {
  const found = await simulateMutant(mutant);
  if (!found) throw new Error(`${JSON.stringify(mutant.catcher)}: no run failed`);
  expect(found.rule).not.toBe("crash");
  // The simulator's own runs show that the unchanged driver passes; the deep plan shows it for the same seed.
  if (!found.options || process.env.SCROLLBACK_DEEP !== "1") return;
  const { failure } = await runSimulation(found.options);
  expect(failure, "the same run of the unchanged driver").toBeUndefined();
});

describe("the unchanged driver", () => {
  test.each(Object.entries(scenes))("passes the scene of: %s", async (_, scene) => {
    await expect(new DirectedRun().run(scene)).resolves.toBeUndefined();
  });
});

test("each rule is switched off once, and each scene belongs to a rule", () => {
  const rules = allMutants.map(({ rule }) => rule);
  expect(rules.filter((rule, index) => rules.indexOf(rule) < index)).toEqual([]);
  const inScenes = allMutants.filter(({ catcher }) => catcher === "its scene");
  expect(inScenes.map(({ rule }) => rule).sort()).toEqual(Object.keys(scenes).sort());
});

async function simulateMutant({ rule, changes, catcher }: Mutant): Promise<Found | undefined> {
  const worker = new URL("simulator-mutants/worker.ts", import.meta.url);
  if (catcher === "its scene") return await runMutated(worker, changes, { MUTANT_SCENE: rule });
  if ("scope" in catcher) return await runMutated(worker, changes, { MUTANT_SCOPE: catcher.scope });
  const [profile, seed] = catcher;
  const run = { MUTANT_PROFILE: profile, MUTANT_SEED: String(seed), MUTANT_STEPS: String(STEPS) };
  return await runMutated(worker, changes, run);
}
