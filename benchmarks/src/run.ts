import type { Backend } from "./backend.ts";
import { measureCalls, type Progress } from "./calls.ts";
import { measureCold } from "./cold.ts";
import { type Figures, watchMachine } from "./figures.ts";
import { type ChatEffort, type LoadEffort, measureLoad } from "./load.ts";
import type { Effort } from "./measure.ts";
import { threadLengths } from "./operations.ts";
import { measureTracing } from "./tracing.ts";

/** The duration of each part of a run. */
export interface Plan {
  /** The thread lengths of single calls, in messages. */
  readonly lengths: readonly number[];
  readonly calls: Effort;
  readonly load: LoadEffort;
  readonly cold: Effort;
  readonly tracing: LoadEffort;
  readonly chats: ChatEffort;
  readonly frameworks: LoadEffort;
}

/** About three minutes per backend. */
export const thorough: Plan = {
  lengths: threadLengths,
  calls: { warmUpMs: 2_000, measuredMs: 12_000, slowCalls: 10 },
  load: { windowMs: 500, windows: 6 },
  cold: { warmUpMs: 500, measuredMs: 5_000, slowCalls: 10 },
  tracing: { windowMs: 300, windows: 8 },
  chats: { chats: [100, 10_000], calls: { windowMs: 500, windows: 12 }, rounds: 10 },
  frameworks: { windowMs: 500, windows: 12 },
};

/** About half a minute per backend. */
export const quick: Plan = {
  lengths: threadLengths.slice(0, -1),
  calls: { warmUpMs: 200, measuredMs: 1_000, slowCalls: 1 },
  load: { windowMs: 150, windows: 2 },
  cold: { warmUpMs: 0, measuredMs: 300, slowCalls: 1 },
  tracing: { windowMs: 100, windows: 2 },
  chats: { chats: [100, 1_000], calls: { windowMs: 150, windows: 2 }, rounds: 2 },
  frameworks: { windowMs: 150, windows: 2 },
};

/** The figures that a quick run is compared by. */
export type Compared = Pick<Figures, "key" | "calls" | "load">;

/** Measures only the figures that are compared with the last full run. */
export async function runCompared(backend: Backend, plan: Plan, progress: Progress): Promise<Compared> {
  const calls = await measureCalls(backend, plan.lengths, plan.calls, progress);
  return { key: backend.key, calls, load: await measureLoad(backend, plan.load, progress) };
}

/** Measures one backend. */
export async function run(backend: Backend, plan: Plan, progress: Progress): Promise<Figures> {
  const { key, title, versions, baseline } = backend;
  const machineUntilNow = watchMachine();
  const { calls, load } = await runCompared(backend, plan, progress);
  const cold = await measureCold(backend, plan.cold, progress);
  const tracing = await measureTracing(backend, plan.tracing, progress);
  return { key, title, versions, baseline, machine: machineUntilNow(), calls, load, cold, tracing };
}
