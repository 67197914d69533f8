/**
 * Runs a scenario with new seeds until one fails, and prints figures. Ends with exit code 1 if a run failed.
 *
 * - `node --conditions=scrollback-source packages/simulator/simulate.ts --scenario packages/store-core/test/simulation/run.ts
 *   [--steps 1000000] [--seed 1]` runs what the module exports as `run`.
 * - `... --replay --seed 7 [--acts 40] [--clients 2] [--without "pauses,crashes"]` runs one seed and prints its newest steps
 *   (`--lines 60`).
 * - `... --shrink --seed 7` looks for a smaller run that fails in the same way (`--seconds 60`).
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { type Fault, faults } from "./src/faults.ts";
import type { Run } from "./src/scenario.ts";
import { describeFailedRun, shrink } from "./src/shrink.ts";
import { formatReport, simulate } from "./src/simulate.ts";
import type { SimulationOptions } from "./src/world.ts";

const { values } = parseArgs({
  options: {
    scenario: { type: "string", default: "" },
    steps: { type: "string", default: "1000000" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 1e9)) },
    acts: { type: "string" },
    clients: { type: "string" },
    without: { type: "string" },
    lines: { type: "string", default: "60" },
    seconds: { type: "string", default: "60" },
    replay: { type: "boolean", default: false },
    shrink: { type: "boolean", default: false },
  },
});
const { scenario } = values;
const run: Run = (await import(resolve(scenario))).run;
const seed = Number(values.seed);

if (values.replay || values.shrink) {
  const options: SimulationOptions = {
    seed,
    ...(values.acts !== undefined && { acts: Number(values.acts) }),
    ...(values.clients !== undefined && { clients: Number(values.clients) }),
    ...(values.without !== undefined && { without: values.without.split(",").map(faultOf) }),
  };
  const { failure } = await run(options);
  if (failure && values.shrink)
    await show(await shrink(run, options, failure.rule, Number(values.seconds) * 1_000));
  else await show(options);
} else {
  const report = await simulate(run, { steps: Number(values.steps), seed });
  console.log(formatReport(report));
  if (report.failed) {
    await show(report.failed.options);
    process.exitCode = 1;
  }
}

async function show(options: SimulationOptions): Promise<void> {
  const result = await run({ ...options, isTraced: true });
  console.log(describeFailedRun(scenario, options, result, Number(values.lines)));
}

function faultOf(name: string): Fault {
  const fault = faults.find((one) => one === name);
  if (!fault)
    throw new RangeError(`simulate: --without has the unknown fault ${name}; use ${faults.join(", ")}`);
  return fault;
}
