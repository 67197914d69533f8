import { expect, test } from "vitest";
import {
  describeFailedRun,
  formatReport,
  mergeReports,
  randomSeed,
  runSimulation,
  type SimulationReport,
  simulate,
} from "../src/simulator/index.ts";

const STEPS = 1_000_000;
/** Half of the steps are those of always, half are new ones every time. */
const FIXED_SEED = 1;
/** A slow machine takes fewer steps. */
const TIMEOUT_MS = 80_000;

test("a million steps of the record log under every fault break no promise", {
  timeout: 120_000,
}, async () => {
  const seed = randomSeed();
  console.log(`seeds from ${FIXED_SEED}, and from ${seed}`);
  const report: SimulationReport = await simulate({
    steps: STEPS / 2,
    seed: FIXED_SEED,
    timeout: TIMEOUT_MS / 2,
  });
  mergeReports(report, await simulate({ steps: STEPS / 2, seed, timeout: TIMEOUT_MS / 2 }));
  console.log(formatReport(report));
  const [failed] = report.failures;
  if (failed) {
    const { options } = failed;
    console.log(describeFailedRun(options, await runSimulation({ ...options, isTraced: true })));
  }
  expect(report.failures).toEqual([]);
  expect(report.steps).toBeGreaterThan(STEPS / 10);
});
