import { faults } from "./faults.ts";
import { profileNames } from "./profiles.ts";
import type { Run } from "./simulate.ts";
import { runSimulation, type SimulationOptions, type SimulationResult } from "./simulation.ts";

/** The number of other seeds to try without a fault: leaving out a fault changes the run. */
const OTHER_SEEDS = 30;
const BUDGET_MS = 60_000;

/**
 * Searches for a smaller run that breaks the same rule: fewer acts, fewer clients, fewer faults. Returns the smallest
 * run found within `budgetMs` of real time (default one minute).
 */
export async function shrink(
  failing: SimulationOptions,
  rule: string,
  budgetMs = BUDGET_MS,
  run: Run = runSimulation,
): Promise<SimulationOptions> {
  const end = performance.now() + budgetMs;
  const isOver = () => performance.now() >= end;
  const fails = async (options: SimulationOptions) => {
    if (isOver()) return false;
    return (await run(options)).failure?.rule === rule;
  };
  /** The run with other options: with the same seed if that fails, otherwise with another one. */
  const withOptions = async (changed: SimulationOptions): Promise<SimulationOptions | undefined> => {
    for (let other = 0; other <= OTHER_SEEDS && !isOver(); other++) {
      const options = { ...changed, seed: changed.seed + other * 1_000_003 };
      if (await fails(options)) return options;
    }
    return undefined;
  };

  const { profile } = await run(failing);
  const named = profileNames.find((name) => name === profile);
  let smallest: SimulationOptions = { ...failing, ...(named && { profile: named }) };
  smallest = await fewerActs(smallest, fails);
  for (const clients of [1, 2, 3]) {
    if (clients >= (smallest.clients ?? Number.POSITIVE_INFINITY)) break;
    const found = await withOptions({ ...smallest, clients });
    if (!found) continue;
    smallest = found;
    break;
  }
  for (const fault of faults) {
    const without = [...(smallest.without ?? []), fault];
    smallest = (await withOptions({ ...smallest, without })) ?? smallest;
  }
  return await fewerActs(smallest, fails);
}

/** A run with fewer acts is the beginning of the same run, so bisection finds about the fewest. */
async function fewerActs(
  options: SimulationOptions,
  fails: (options: SimulationOptions) => Promise<boolean>,
): Promise<SimulationOptions> {
  let [low, high] = [0, options.acts ?? 4_096];
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (await fails({ ...options, acts: middle })) high = middle;
    else low = middle;
  }
  return { ...options, acts: high };
}

/**
 * A failed run as text: how to replay it, the problem, the newest steps.
 *
 * @param replay how to replay it. Default: the call of {@link runSimulation}.
 */
export function describeFailedRun(
  options: SimulationOptions,
  result: SimulationResult,
  lines = 60,
  replay = replayingCall(options, result),
): string {
  const { failure, trace, profile, steps, hash } = result;
  return [
    `seed ${options.seed}, profile ${profile}: ${failure?.message ?? "nothing was wrong"}`,
    `replay: ${replay}`,
    `${steps} steps, trace ${hash}; the newest steps:`,
    ...trace.slice(-lines),
    ...(failure?.cause instanceof Error ? [String(failure.cause.stack)] : []),
  ].join("\n");
}

function replayingCall(
  { seed, acts, clients, without, createDriver }: SimulationOptions,
  { profile }: SimulationResult,
): string {
  const plain = JSON.stringify({ seed, profile, acts, clients, without, isTraced: true });
  const call = createDriver ? plain.replace(/}$/, ',"createDriver":yours}') : plain;
  return `await runSimulation(${call}) of @scrollback/conformance`;
}
