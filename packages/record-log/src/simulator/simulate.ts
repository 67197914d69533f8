import type { ProfileName } from "./profiles.ts";
import { addResult, emptyReport, type SimulationReport } from "./report.ts";
import { runSimulation, type SimulationOptions, type SimulationResult } from "./simulation.ts";

/** One run. */
export type Run = (options: SimulationOptions) => Promise<SimulationResult>;

export interface SimulateOptions extends Pick<SimulationOptions, "createDriver"> {
  /** Runs begin until their total number of steps reaches this number. */
  readonly steps: number;
  /** The seed of the first run; the others count up from it. Default: random. */
  readonly seed?: number;
  /** The difference of one seed and the next, for several processes that share the work. Default 1. */
  readonly stride?: number;
  /** Default: drawn from each seed. */
  readonly profile?: ProfileName;
  /** Makes a run. Default: {@link runSimulation}. */
  readonly run?: Run;
  /** No run begins after this many milliseconds. Default: no limit. */
  readonly timeout?: number;
  /** No run begins after this many runs have failed. Default 1. */
  readonly maxFailures?: number;
}

/**
 * Runs simulations one after the other until they have taken `steps` steps, or one fails. The report names the seed of a run that
 * failed; the same seed replays it, step by step.
 */
export async function simulate(options: SimulateOptions): Promise<SimulationReport> {
  const { steps, stride = 1, profile, createDriver, maxFailures = 1, run = runSimulation } = options;
  const { timeout = Number.POSITIVE_INFINITY } = options;
  const report = emptyReport();
  const start = performance.now();
  let seed = options.seed ?? randomSeed();
  while (report.steps < steps && report.failures.length < maxFailures) {
    if (performance.now() - start >= timeout) break;
    const one = { seed, ...(profile && { profile }), ...(createDriver && { createDriver }) };
    addResult(report, one, await run(one));
    seed += stride;
  }
  report.duration = performance.now() - start;
  return report;
}

/** A seed of 9 digits at most. */
export function randomSeed(): number {
  return Math.floor(Math.random() * 1e9);
}
