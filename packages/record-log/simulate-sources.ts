/**
 * Runs the record log's driver in the deterministic simulator, prints figures, and ends with exit code 1 if a run failed.
 *
 * - `node packages/record-log/simulate.ts --steps 1000000 [--seed 1] [--workers 2] [--profile slow] [--failures 1]`
 * - `node packages/record-log/simulate.ts --replay --seed 7 [--profile slow] [--acts 40] [--clients 2] [--without "pauses,crashes"]`
 *   runs one seed and prints its newest steps (`--lines 60`).
 * - `... --shrink --seed 7` looks for a smaller run that fails in the same way (`--seconds 60`).
 * - `... --scenario packages/sessions/test/simulation/run.ts` runs what the module exports as `run` instead.
 */
import { fork } from "node:child_process";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { type Fault, faults } from "./src/simulator/faults.ts";
import { formatReport, runSimulation, simulate } from "./src/simulator/index.ts";
import { type ProfileName, profileNames } from "./src/simulator/profiles.ts";
import { emptyReport, mergeReports, type SimulationReport } from "./src/simulator/report.ts";
import { describeFailedRun, shrink } from "./src/simulator/shrink.ts";
import { type Run, randomSeed } from "./src/simulator/simulate.ts";
import type { SimulationOptions } from "./src/simulator/simulation.ts";

const { values } = parseArgs({
  options: {
    steps: { type: "string", default: "1000000" },
    seed: { type: "string" },
    workers: { type: "string", default: "1" },
    profile: { type: "string" },
    failures: { type: "string", default: "1" },
    acts: { type: "string" },
    clients: { type: "string" },
    without: { type: "string" },
    lines: { type: "string", default: "60" },
    seconds: { type: "string", default: "60" },
    scenario: { type: "string" },
    stride: { type: "string", default: "1" },
    replay: { type: "boolean", default: false },
    shrink: { type: "boolean", default: false },
    worker: { type: "boolean", default: false },
  },
});

const seed = values.seed === undefined ? randomSeed() : Number(values.seed);
const profile = profileNames.find((name) => name === values.profile);
if (values.profile !== undefined && !profile) {
  throw new RangeError(`--profile must be one of ${profileNames.join(", ")}`);
}

const { scenario } = values;
const run: Run = scenario === undefined ? runSimulation : (await import(resolve(scenario))).run;

if (values.worker) process.send?.(await runHere());
else if (values.replay || values.shrink) await replay();
else await runAll(Number(values.workers));

function runHere(): Promise<SimulationReport> {
  return simulate({
    ...{ steps: Number(values.steps), seed, stride: Number(values.stride) },
    ...{ maxFailures: Number(values.failures), run },
    ...(profile && { profile }),
  });
}

async function runAll(workers: number): Promise<void> {
  console.log(`seed ${seed}`);
  const report = emptyReport();
  const parts =
    workers <= 1 ? [runHere()] : Array.from({ length: workers }, (_, index) => runAside(index, workers));
  for (const part of await Promise.all(parts)) mergeReports(report, part);
  console.log(formatReport(report));
  for (const { options, rule, message } of report.failures) {
    console.log(`seed ${options.seed}: ${message} (${rule})`);
  }
  const [failed] = report.failures;
  if (!failed) return;
  await show(failed.options);
  process.exitCode = 1;
}

/** Runs a share of the steps in another process. */
function runAside(index: number, workers: number): Promise<SimulationReport> {
  const share = Math.ceil(Number(values.steps) / workers);
  const child = fork(import.meta.filename, [
    ...["--worker", "--seed", String(seed + index), "--stride", String(workers), "--steps", String(share)],
    ...["--failures", values.failures],
    ...(profile ? ["--profile", profile] : []),
    ...(scenario === undefined ? [] : ["--scenario", scenario]),
  ]);
  return new Promise((resolve, reject) => {
    let report: SimulationReport | undefined;
    child.on("message", (message) => {
      report = message as SimulationReport;
    });
    child.on("error", reject);
    child.on("close", (code) => {
      if (report) resolve(report);
      else reject(new Error(`a worker ended with exit code ${code}`));
    });
  });
}

async function replay(): Promise<void> {
  const options: SimulationOptions = {
    seed,
    ...(profile && { profile: profile as ProfileName }),
    ...(values.acts !== undefined && { acts: Number(values.acts) }),
    ...(values.clients !== undefined && { clients: Number(values.clients) }),
    ...(values.without !== undefined && { without: faultsOf(values.without) }),
  };
  if (!values.shrink) return await show(options);
  const { failure } = await run(options);
  if (!failure) return console.log("nothing was wrong");
  await show(await shrink(options, failure.rule, Number(values.seconds) * 1_000, run));
}

async function show(options: SimulationOptions): Promise<void> {
  const result = await run({ ...options, isTraced: true });
  const { acts, clients, without = [] } = options;
  const subject = scenario === undefined ? `--profile ${result.profile}` : `--scenario ${scenario}`;
  const command = [
    `node packages/record-log/simulate.ts --replay --seed ${options.seed} ${subject}`,
    acts === undefined ? "" : `--acts ${acts}`,
    clients === undefined ? "" : `--clients ${clients}`,
    without.length > 0 ? `--without "${without.join(",")}"` : "",
  ];
  const replay = command.filter((part) => part !== "").join(" ");
  console.log(describeFailedRun(options, result, Number(values.lines), replay));
}

function faultsOf(names: string): Fault[] {
  return names.split(",").map((name) => {
    const fault = faults.find((one) => one === name);
    if (!fault) throw new RangeError(`--without must be a list of: ${faults.join(", ")}`);
    return fault;
  });
}
