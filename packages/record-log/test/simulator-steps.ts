import { expect, test } from "vitest";
import { formatReport, runSimulation, simulate } from "../src/simulator/index.ts";
import { describeFailedRun } from "../src/simulator/shrink.ts";

const isDeep = process.env.SCROLLBACK_DEEP === "1";
/** `npm run test:simulate` takes a hundred million. */
const STEPS = isDeep ? 10_000_000 : 1_000_000;
/** A slow machine executes fewer steps. The last run, which has begun by then, may take minutes on a busy one. */
const TIMEOUT_MS = isDeep ? 1_200_000 : 80_000;

/**
 * Declares the test that the record log keeps its promises over half of the steps: those of the runs with odd or with even seeds,
 * so that two processes share the work. They are the same steps in every run, so that a change is judged only by its effect.
 */
export function declareHalfOfTheSteps(seeds: "odd" | "even"): void {
  const steps = STEPS / 2;
  const title = `${steps.toLocaleString("en")} steps of the record log under every fault, with ${seeds} seeds, break no promise`;
  test(title, { timeout: TIMEOUT_MS + 240_000 }, async () => {
    const seed = seeds === "odd" ? 1 : 2;
    const report = await simulate({ steps, seed, stride: 2, timeout: TIMEOUT_MS });
    console.log(formatReport(report));
    const [failed] = report.failures;
    if (failed) {
      const { options } = failed;
      console.log(describeFailedRun(options, await runSimulation({ ...options, isTraced: true })));
    }
    expect(report.failures).toEqual([]);
    expect(report.steps).toBeGreaterThan(steps / 10);
  });
}
