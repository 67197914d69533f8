import { faults } from "./faults.ts";
import type { Run, SimulationResult } from "./scenario.ts";
import type { SimulationOptions } from "./world.ts";

/** The number of other seeds to try without a fault: leaving out a fault changes the run. */
const OTHER_SEEDS = 30;

/**
 * Searches for a smaller run that breaks the same rule: fewer acts, fewer clients, fewer faults. Returns the smallest
 * run found within `budgetMs` of real time.
 */
export async function shrink(
  run: Run,
  failing: SimulationOptions,
  rule: string,
  budgetMs: number,
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

  let smallest = await fewerActs(failing, fails);
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
 * @param module the module that exports `run`, relative to the root of the repository.
 */
export function describeFailedRun(
  module: string,
  { seed, acts, clients, without = [] }: SimulationOptions,
  { failure, trace, steps, hash }: SimulationResult,
  lines: number,
): string {
  const replay = [
    `node --conditions=scrollback-source packages/simulator/simulate.ts --scenario ${module}`,
    `--replay --seed ${seed}`,
    ...(acts === undefined ? [] : [`--acts ${acts}`]),
    ...(clients === undefined ? [] : [`--clients ${clients}`]),
    ...(without.length === 0 ? [] : [`--without "${without.join(",")}"`]),
  ];
  return [
    `seed ${seed}: ${failure?.message ?? "nothing was wrong"}`,
    `replay: ${replay.join(" ")}`,
    `${steps} steps, trace ${hash}; the newest steps:`,
    ...trace.slice(-lines),
    ...(failure?.cause instanceof Error ? [String(failure.cause.stack)] : []),
  ].join("\n");
}
