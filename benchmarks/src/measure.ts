import { setImmediate } from "node:timers/promises";
import type { Call } from "./backend.ts";
import { seededRandom, shuffled } from "./random.ts";

/** One contestant at one operation on one thread. */
export interface Cell {
  /** Prepares the next call. */
  prepare(): Call;
  /** Cleans up after each call, outside of the measured time. */
  finish?(): Promise<void>;
  /** The time of each measured call, in milliseconds. */
  readonly times: number[];
}

export interface Effort {
  /** The time for which the calls of one operation are repeated, without slow calls. */
  readonly measuredMs: number;
  readonly warmUpMs: number;
  /** The number of measurements of a slow call. */
  readonly slowCalls: number;
}

/** A call that takes longer is slow, and is measured only a few times, spread over the whole measurement. */
const SLOW_MS = 100;
const TRIAL_CALLS = 3;

/**
 * Measures cells side by side: each iteration runs each of them once, in random order. So other load of the machine, and the
 * effects of one call on the next (caches, garbage), affect all cells equally.
 */
export async function measure(cells: readonly Cell[], effort: Effort, signal: AbortSignal): Promise<void> {
  const random = seededRandom(1);
  const slow = new Set<Cell>();
  for (const cell of cells) {
    const trials: number[] = [];
    for (let trial = 0; trial < TRIAL_CALLS; trial++) trials.push(await time(cell));
    if (Math.min(...trials) > SLOW_MS) slow.add(cell);
  }
  const quick = cells.filter((cell) => !slow.has(cell));
  for (const end = performance.now() + effort.warmUpMs; performance.now() < end; ) {
    for (const cell of shuffled(quick, random)) await time(cell);
    await takeBreath(signal);
  }

  globalThis.gc?.();
  let spentMs = 0;
  for (let begin = performance.now(); spentMs < effort.measuredMs; begin = performance.now()) {
    for (const cell of shuffled(quick, random)) cell.times.push(await time(cell));
    await takeBreath(signal);
    spentMs += performance.now() - begin;
    const slowCallsDue = effort.slowCalls * Math.min(1, spentMs / effort.measuredMs);
    for (const cell of slow) {
      if (cell.times.length >= slowCallsDue) continue;
      cell.times.push(await time(cell));
      // Other cells must not clear its garbage.
      globalThis.gc?.();
    }
  }
}

async function time(cell: Cell): Promise<number> {
  const call = cell.prepare();
  const begin = performance.now();
  await call();
  const took = performance.now() - begin;
  await cell.finish?.();
  return took;
}

/** Without this, calls that need no I/O would block the event loop and interrupts. */
async function takeBreath(signal: AbortSignal): Promise<void> {
  await setImmediate();
  signal.throwIfAborted();
}
