import { expect, test } from "vitest";
import { describeFailedRun, formatReport, runSimulation, simulate } from "../src/simulator/index.ts";

const STEPS = 1_000_000;
/** The same steps in every run, so that a change is judged only by its effect. `npm run test:simulate` uses new steps. */
const SEED = 1;
/** A slow machine executes fewer steps. */
const TIMEOUT_MS = 80_000;

test("a million steps of the record log under every fault break no promise", {
  timeout: 120_000,
}, async () => {
  const report = await simulate({ steps: STEPS, seed: SEED, timeout: TIMEOUT_MS });
  console.log(formatReport(report));
  const [failed] = report.failures;
  if (failed) {
    const { options } = failed;
    console.log(describeFailedRun(options, await runSimulation({ ...options, isTraced: true })));
  }
  expect(report.failures).toEqual([]);
  expect(report.steps).toBeGreaterThan(STEPS / 10);
});
