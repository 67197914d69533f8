import type { Machine } from "../figures.ts";

/** The date and machine of the measurement. */
export function machineText({ cores, node, date, load }: Machine): string {
  const loads = load.map((value) => value.toFixed(1)).join(" at the start, ");
  return `${date}, Node ${node}, ${cores} cores; load average ${loads} at the end${quietness(load, cores)}`;
}

function quietness(load: readonly number[], cores: number): string {
  return isQuiet({ load, cores }) ? "" : ": the machine was busy with other work";
}

/** The benchmark and its server keep two cores busy, and other processes are never idle. */
const LOAD_BEYOND_CORES = 1;

/** Whether nothing but the benchmark and its server kept the machine busy. */
export function isQuiet({ load, cores }: Pick<Machine, "load" | "cores">): boolean {
  return Math.max(...load) <= highestQuietLoad(cores);
}

/** The highest load average of a quiet machine. */
export function highestQuietLoad(cores: number): number {
  return cores + LOAD_BEYOND_CORES;
}
