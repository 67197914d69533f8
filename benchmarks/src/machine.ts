import type { Machine } from "./figures.ts";

/** The date and machine of the measurement. */
export function machineText({ cores, node, date, load }: Machine): string {
  const loads = load.map((value) => value.toFixed(1)).join(" at the start, ");
  return `${date}, Node ${node}, ${cores} cores; load average ${loads} at the end${quietness(load, cores)}`;
}

/** The benchmark itself and its server keep two cores busy. */
function quietness(load: readonly number[], cores: number): string {
  return isQuiet({ load, cores }) ? "" : ": the machine was busy with other work";
}

export function isQuiet({ load, cores }: Pick<Machine, "load" | "cores">): boolean {
  return Math.max(...load) <= cores + 1;
}
