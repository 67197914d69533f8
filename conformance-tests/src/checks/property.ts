import fc from "fast-check";

/**
 * Checks a fast-check property `runs` times. A failure prints the seed and the path to its smallest example; given as
 * `CONFORMANCE_SEED` and `CONFORMANCE_PATH` to a run of that test alone (`-t`), they replay it. `CONFORMANCE_RUNS`
 * multiplies the number of runs.
 *
 * @param examples are tried first.
 */
export async function checkProperty<T>(
  property: fc.IAsyncProperty<T>,
  runs: number,
  examples: T[] = [],
): Promise<void> {
  const { CONFORMANCE_SEED: seed, CONFORMANCE_PATH: path, CONFORMANCE_RUNS: factor } = process.env;
  await fc.assert(property, {
    numRuns: Math.ceil(runs * Number(factor ?? 1)),
    // Enough to see the problem; a slow backend would need minutes to find the smallest example.
    interruptAfterTimeLimit: 45_000,
    examples,
    ...(seed !== undefined && { seed: Number(seed) }),
    ...(path !== undefined && { path }),
  });
}
