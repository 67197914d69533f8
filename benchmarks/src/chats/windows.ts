import type { Call } from "../backend.ts";
import { rounded, type Timing, timingOf } from "../figures.ts";
import type { LoadEffort } from "../load.ts";
import { seededRandom, shuffled } from "../random.ts";

/** One contestant at one operation. */
export interface Repeated<Name extends string> {
  readonly name: Name;
  /** Prepares the next call. */
  prepare(): Call;
  /** Completes the background work of a window's calls, because its processor time belongs to them. */
  flush?(): Promise<void>;
}

/** The cost of a call: its time, and the processor time of this process with all its threads. */
export type CallCost = Timing & { readonly cpuMicros: number };

/** Measures contestants in turn, one time window each, in random order. The first window warms up. */
export async function measureInTurn<Name extends string>(
  contestants: readonly Repeated<Name>[],
  { windowMs, windows }: LoadEffort,
  signal: AbortSignal,
): Promise<Record<Name, CallCost>> {
  const random = seededRandom(1);
  const measured = contestants.map((contestant) => ({ contestant, times: [] as number[], cpuMicros: 0 }));
  for (let window = 0; window <= windows; window++) {
    for (const one of shuffled(measured, random)) {
      const { times, cpuMicros } = await repeat(one.contestant, windowMs);
      signal.throwIfAborted();
      if (window === 0) continue;
      one.times.push(...times);
      one.cpuMicros += cpuMicros;
    }
  }
  return Object.fromEntries(
    measured.map(({ contestant: { name }, times, cpuMicros }) => [
      name,
      { ...timingOf(times), cpuMicros: rounded(cpuMicros / times.length) },
    ]),
  ) as Record<Name, CallCost>;
}

async function repeat<Name extends string>({ prepare, flush }: Repeated<Name>, windowMs: number) {
  // This contestant must not clear the garbage of the previous one.
  globalThis.gc?.();
  const times: number[] = [];
  const cpu = process.cpuUsage();
  const end = performance.now() + windowMs;
  do {
    const call = prepare();
    const begin = performance.now();
    await call();
    times.push(performance.now() - begin);
  } while (performance.now() < end);
  await flush?.();
  const { user, system } = process.cpuUsage(cpu);
  return { times, cpuMicros: user + system };
}
