import { setImmediate } from "node:timers/promises";
import type { Call } from "./contestant.ts";
import { seededRandom, shuffled } from "./random.ts";

/** One contestant at one operation. */
export interface Cell {
  /** Prepares the next call. */
  prepare(): Call;
  /** The time of each measured call, in milliseconds. */
  readonly times: number[];
}

export interface Effort {
  readonly warmUpMs: number;
  readonly measuredMs: number;
}

/** Of each cell, also where its calls take longer than the measured time. */
const FEWEST_CALLS = 5;

/**
 * Measures cells side by side: each iteration runs each of them once, in random order. So other load of the machine, and the
 * effects of one call on the next (caches, garbage), affect all cells equally.
 */
export async function measure(cells: readonly Cell[], effort: Effort): Promise<void> {
  const random = seededRandom(1);
  const repeat = async (ms: number, fewest: number, use: (cell: Cell, time: number) => void) => {
    const end = performance.now() + ms;
    for (let iteration = 0; iteration < fewest || performance.now() < end; iteration++) {
      for (const cell of shuffled(cells, random)) {
        const call = cell.prepare();
        const begin = performance.now();
        await call();
        use(cell, performance.now() - begin);
      }
      // Without this, calls that need no I/O would block the event loop.
      await setImmediate();
    }
  };
  await repeat(effort.warmUpMs, 1, () => undefined);
  globalThis.gc?.();
  await repeat(effort.measuredMs, FEWEST_CALLS, (cell, time) => cell.times.push(time));
}

/** The middle value; for an even number of values, the mean of the two middle ones. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [lower, upper] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  if (lower === undefined || upper === undefined) throw new RangeError("the median of no values");
  return (lower + upper) / 2;
}
