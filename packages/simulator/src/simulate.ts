import type { Run } from "./scenario.ts";
import type { SimulationOptions } from "./world.ts";

/** The outcome of many runs. */
export interface SimulationReport {
  readonly runs: number;
  readonly steps: number;
  /** Milliseconds of real time. */
  readonly duration: number;
  /** The number of faults and errors, by name. */
  readonly counts: ReadonlyMap<string, number>;
  /** The run that failed, if one did. The options replay it. */
  readonly failed?: { readonly options: SimulationOptions; readonly rule: string; readonly message: string };
}

/** What {@link simulate} runs. */
export interface SimulateOptions {
  /** Runs begin until their total number of steps reaches this number. */
  readonly steps: number;
  /** The seed of the first run; the others count up from it. */
  readonly seed: number;
  /** No run begins after this many milliseconds. Default: no limit. */
  readonly timeout?: number;
}

/** Makes runs one after the other until they have taken `steps` steps, or one fails. */
export async function simulate(
  run: Run,
  { steps: wanted, seed: first, timeout = Number.POSITIVE_INFINITY }: SimulateOptions,
): Promise<SimulationReport> {
  const start = performance.now();
  const counts = new Map<string, number>();
  let steps = 0;
  for (let runs = 0; ; runs++) {
    const duration = performance.now() - start;
    if (steps >= wanted || duration >= timeout) return { runs, steps, duration, counts };
    const options = { seed: first + runs };
    const { failure, counters, ...result } = await run(options);
    steps += result.steps;
    for (const [name, count] of counters.counts) counts.set(name, (counts.get(name) ?? 0) + count);
    if (!failure) continue;
    const { rule, message } = failure;
    return { runs: runs + 1, steps, duration, counts, failed: { options, rule, message } };
  }
}

/** The figures of a report, one on each line. */
export function formatReport({ runs, steps, duration, counts, failed }: SimulationReport): string {
  const perSecond = Math.round(steps / Math.max(0.001, duration / 1_000));
  return [
    `${runs} runs, ${steps} steps in ${(duration / 1_000).toFixed(1)} s (${perSecond} a second)`,
    ...[...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, count]) => `  ${name}: ${count}`),
    ...(failed ? [`seed ${failed.options.seed} failed: ${failed.message}`] : []),
  ].join("\n");
}
