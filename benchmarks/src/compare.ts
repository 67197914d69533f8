import type { BackendKey } from "./backend.ts";
import type { Compared } from "./run.ts";
import { loadRows, overRaw, throughput } from "./targets.ts";

/** A ratio to the raw client that is worse than in the last full run. */
export interface Regression {
  readonly key: BackendKey;
  readonly what: string;
  readonly before: number;
  readonly now: number;
}

/**
 * The allowed factor between a ratio and that of the last full run. Wide, because quick runs on a busy machine vary: the check
 * must find a second request, a lost fast path or work that grows with the thread, not a few per cent.
 */
export const MARGIN = 1.8;

/** Compares the ratios of a quick run with those of the last full run. Leaves out what the full run did not measure. */
export function regressions(last: readonly Compared[], now: readonly Compared[]): Regression[] {
  return now.flatMap((figures) => {
    const { key } = figures;
    const before = last.find((one) => one.key === key);
    if (!before) return [];
    const slower = worse(times(before), times(figures), (was, is) => is / was);
    const fewer = worse(shares(before), shares(figures), (was, is) => was / is);
    return [...slower, ...fewer].map((found) => ({ key, ...found }));
  });
}

type Ratios = ReadonlyMap<string, number>;

function times({ calls }: Compared): Ratios {
  return new Map(overRaw(calls).map(({ value, where }) => [where, value]));
}

/** Leaves out writers on one thread and 64 connections, which wait for each other by chance: a quick run has too few commits. */
function shares({ load }: Compared): Ratios {
  return new Map(throughput(loadRows(load, 8, "many", "many")).map(({ value, where }) => [where, value]));
}

function worse(
  last: Ratios,
  now: Ratios,
  howMuch: (was: number, is: number) => number,
): Omit<Regression, "key">[] {
  return [...now].flatMap(([what, is]) => {
    const was = last.get(what);
    // A ratio that is not a number is a failure too.
    return was === undefined || howMuch(was, is) <= MARGIN ? [] : [{ what, before: was, now: is }];
  });
}
