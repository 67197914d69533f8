import { expect, test } from "vitest";
import type { Run } from "./scenario.ts";
import { describeFailedRun } from "./shrink.ts";
import { formatReport, simulate } from "./simulate.ts";

/** The steps of the deep plan. */
const STEPS = 100_000;
/** The same steps in every run, so that a change is judged only by its effect. `npm run test:simulate` uses new steps. */
const SEED = 1;
/** A slow machine executes fewer steps. */
const TIMEOUT_MS = 60_000;

/** The options of {@link runScenarioTests}. */
export interface ScenarioTestOptions {
  /** What many steps do, such as "of a chat lose no message". */
  readonly title: string;
  readonly run: Run;
  /** The module that exports `run`, relative to the root of the repository, to replay a failed run. */
  readonly module: string;
  /** The number of acts of the runs that must take the same steps. */
  readonly acts: number;
  /** The number of steps. Default: 100,000. With `SCROLLBACK_DEEP=1` it is at least 100,000. */
  readonly steps?: number;
}

/** Declares the tests of a scenario: that many steps break no promise, and that a seed always takes the same steps. */
export function runScenarioTests({
  title,
  run,
  module,
  acts,
  steps: few = STEPS,
}: ScenarioTestOptions): void {
  const steps = process.env.SCROLLBACK_DEEP === "1" ? Math.max(few, STEPS) : few;
  test(`${steps.toLocaleString("en")} steps ${title}`, { timeout: 2 * TIMEOUT_MS }, async () => {
    const report = await simulate(run, { steps, seed: SEED, timeout: TIMEOUT_MS });
    console.log(formatReport(report));
    if (report.failed) {
      const { options } = report.failed;
      console.log(describeFailedRun(module, options, await run({ ...options, isTraced: true }), 60));
    }
    expect(report.failed).toBeUndefined();
    expect(report.steps).toBeGreaterThan(steps / 20);
  });

  test("the same seed takes the same steps, with a trace or without", async () => {
    const once = await run({ seed: 3, acts });
    const again = await run({ seed: 3, acts, isTraced: true });
    expect(again).toMatchObject({ hash: once.hash, steps: once.steps });
    expect((await run({ seed: 4, acts })).hash).not.toBe(once.hash);
  });
}
