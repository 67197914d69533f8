import { expect, test } from "vitest";
import { describeFailedRun, formatReport, simulate } from "../src/simulator/index.ts";
import { run } from "./simulation/run.ts";

const STEPS = 100_000;
/** The same steps each time: a change is judged by what it changes. `npm run test:simulate` takes new ones. */
const SEED = 1;
/** A slow machine takes fewer steps. */
const TIMEOUT_MS = 60_000;
const SCENARIO = "conformance-tests/test/simulation/run.ts";

test("a hundred thousand steps of the portable store under every fault break no promise", {
  timeout: 2 * TIMEOUT_MS,
}, async () => {
  const report = await simulate({ steps: STEPS, seed: SEED, timeout: TIMEOUT_MS, run });
  console.log(formatReport(report));
  for (const { options } of report.failures) {
    const replay = `node conformance-tests/simulate.ts --scenario ${SCENARIO} --replay --seed ${options.seed}`;
    console.log(describeFailedRun(options, await run({ ...options, isTraced: true }), 60, replay));
  }
  expect(report.failures).toEqual([]);
  expect(report.steps).toBeGreaterThan(STEPS / 20);
});

test("the same seed takes the same steps, with a trace or without", async () => {
  const once = await run({ seed: 3, acts: 60 });
  const again = await run({ seed: 3, acts: 60, isTraced: true });
  expect(again).toMatchObject({ hash: once.hash, steps: once.steps });
  expect((await run({ seed: 4, acts: 60 })).hash).not.toBe(once.hash);
});
