import type { SimulationOptions, SimulationResult } from "./simulation.ts";

/** A failed run. The options replay it. */
export interface FailedRun {
  readonly options: Pick<SimulationOptions, "seed" | "profile" | "acts" | "clients" | "without">;
  readonly profile: string;
  readonly rule: string;
  readonly message: string;
}

/** The outcome of many runs, as plain data. */
export interface SimulationReport {
  runs: number;
  steps: number;
  /** Milliseconds of real time. */
  duration: number;
  /** Counts by event; for a name that begins with "largest" or "most", the largest value. */
  readonly counts: Record<string, number>;
  /** By kind of call: the number of calls for each number of requests. Undisturbed calls only. */
  readonly requests: Record<string, Record<number, number>>;
  /** By profile: the number of heads up to each size, in steps of 64 bytes. */
  readonly headSizes: Record<string, Record<number, number>>;
  readonly failures: FailedRun[];
}

export function emptyReport(): SimulationReport {
  return { runs: 0, steps: 0, duration: 0, counts: {}, requests: {}, headSizes: {}, failures: [] };
}

/** Adds a run to a report. */
export function addResult(
  report: SimulationReport,
  options: SimulationOptions,
  { steps, profile, counters, costs, headSizes, failure }: SimulationResult,
): void {
  report.runs += 1;
  report.steps += steps;
  addCounts(report.counts, Object.fromEntries(counters.counts));
  for (const [name, row] of costs.table) addTo(report.requests, name, row);
  addTo(report.headSizes, profile, headSizes);
  if (!failure) return;
  const { seed, acts, clients, without } = options;
  report.failures.push({
    options: {
      seed,
      ...(options.profile && { profile: options.profile }),
      ...(acts !== undefined && { acts }),
      ...(clients !== undefined && { clients }),
      ...(without && { without }),
    },
    profile,
    rule: failure.rule,
    message: failure.message,
  });
}

/** Adds the report of a process that ran in parallel: the duration is that of the slowest. */
export function mergeReports(into: SimulationReport, other: SimulationReport): void {
  into.runs += other.runs;
  into.steps += other.steps;
  into.duration = Math.max(into.duration, other.duration);
  addCounts(into.counts, other.counts);
  for (const [name, row] of Object.entries(other.requests)) addTo(into.requests, name, entriesOf(row));
  for (const [name, row] of Object.entries(other.headSizes)) addTo(into.headSizes, name, entriesOf(row));
  into.failures.push(...other.failures);
}

/** The size in bytes that a given share of a profile's heads does not exceed; 0 without heads. */
export function headSizeAt({ headSizes }: SimulationReport, profile: string, share: number): number {
  const sizes = entriesOf(headSizes[profile] ?? {}).sort(([a], [b]) => a - b);
  let left = sizes.reduce((sum, [, count]) => sum + count, 0) * share;
  for (const [size, count] of sizes) {
    left -= count;
    if (left <= 0) return size;
  }
  return 0;
}

/** The figures of a report, one on each line. */
export function formatReport(report: SimulationReport): string {
  const { runs, steps, duration, counts, requests, failures } = report;
  const perSecond = Math.round(steps / Math.max(0.001, duration / 1_000));
  const heads = Object.keys(report.headSizes).map(
    (profile) => `${profile} ${headSizeAt(report, profile, 0.99)}/${headSizeAt(report, profile, 1)}`,
  );
  return [
    `${runs} runs, ${steps} steps in ${(duration / 1_000).toFixed(1)} s (${perSecond} a second), ${failures.length} failed`,
    ...Object.entries(counts)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, count]) => `  ${name}: ${count}`),
    `heads, 99 % and all up to so many bytes: ${heads.join(", ")}`,
    "requests of calls that nothing disturbed, as requests x calls:",
    ...Object.entries(requests)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, row]) => `  ${name}: ${formatRow(row)}`),
  ].join("\n");
}

function formatRow(row: Readonly<Record<number, number>>): string {
  return Object.entries(row)
    .map(([requests, calls]) => `${requests} x ${calls}`)
    .join(", ");
}

function addCounts(into: Record<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(counts)) {
    const before = into[name] ?? 0;
    into[name] = /^(largest|most) /.test(name) ? Math.max(before, value) : before + value;
  }
}

function addTo(
  table: Record<string, Record<number, number>>,
  name: string,
  row: Iterable<readonly [number, number]>,
): void {
  table[name] ??= {};
  const own = table[name];
  for (const [value, count] of row) own[value] = (own[value] ?? 0) + count;
}

function entriesOf(row: Readonly<Record<number, number>>): [number, number][] {
  return Object.entries(row).map(([value, count]) => [Number(value), count]);
}
