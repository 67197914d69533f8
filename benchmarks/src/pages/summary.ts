import type { CallRow, Figures, LoadRow, Results } from "../figures.ts";
import { loadRows, overRaw, throughput } from "../targets.ts";
import { highestQuietLoad, isQuiet } from "./machine.ts";
import { type Column, inDigits, table } from "./table.ts";

/** The rows of one operation, over all thread lengths. */
const rowsOf = ({ calls }: Figures, operation: string) => calls.filter((row) => row.operation === operation);

/** One row per backend: ratios to the raw client, minimum to maximum over the thread lengths. */
export function summaryTable(backends: readonly Figures[]): string {
  const operation = (name: string): Column<Figures> => ({
    title: name,
    align: "right",
    text: (figures) =>
      rangeText(
        overRaw(rowsOf(figures, name)).map(({ value }) => value),
        2,
      ),
  });
  /** No column if it was not measured on any backend. */
  const share = (
    title: string,
    threads: LoadRow["threads"],
    clients: LoadRow["clients"],
  ): Column<Figures>[] => {
    const rows = ({ load }: Figures) => loadRows(load, 8, threads, clients);
    if (backends.every((figures) => rows(figures).length === 0)) return [];
    return [{ title, align: "right", text: (figures) => shareText(rows(figures)) }];
  };
  return table<Figures>(
    [
      { ...serverColumn, title: "× raw" },
      operation("append 1"),
      operation("append 20"),
      operation("newest 20"),
      operation("all"),
      ...share("commits/s, 8 on 8 threads", "many", "many"),
      ...share("8 of one factory on one thread", "one", "one"),
      ...share("8 factories on one thread", "one", "many"),
    ],
    backends,
  );
}

/** The measured thread lengths. */
export function lengthsText({ calls }: Figures): string {
  const lengths = [...new Set(calls.map(({ length }) => length))].sort((one, other) => one - other);
  return lengths.map((length) => length.toLocaleString("en")).join(", ");
}

/** The column with the server of each backend. */
export const serverColumn: Column<Figures> = {
  title: "",
  align: "left",
  text: ({ versions }) => serverOf(versions),
};

/** The server or its equivalent, with its version. */
export function serverOf(versions: readonly string[]): string {
  return (versions[0] ?? "")
    .replace(", synchronous_commit on", "")
    .replace(" (node:sqlite), WAL, synchronous", ",");
}

/** States whether the machine was idle, and so how reliable the figures are. */
export function quietText({ backends }: Pick<Results, "backends">): string {
  const busy = backends.filter(({ machine }) => !isQuiet(machine));
  const loads = busy.flatMap(({ machine }) => machine.load);
  if (busy.length === 0) {
    const highest = Math.max(...backends.flatMap(({ machine }) => machine.load));
    const cores = backends[0]?.machine.cores ?? 0;
    return `Nothing else ran on the machine: its load average was at most ${highest.toFixed(1)} on ${cores} cores, of which the benchmark and its server cause up to ${highestQuietLoad(cores)}.`;
  }
  return `**The machine was busy with other work in this run** (load average ${Math.min(...loads).toFixed(0)} to ${Math.max(...loads).toFixed(0)} on ${busy[0]?.machine.cores} cores). Calls are interleaved, so ratios are more reliable than times,
but single figures vary widely: a target missed here can be met on a quiet machine, and vice versa.`;
}

export function rangeText(values: readonly number[], decimals: number): string {
  if (values.length === 0) return "-";
  const [least, most] = [Math.min(...values), Math.max(...values)].map((value) => inDigits(value, decimals));
  return least === most ? `${least}` : `${least} to ${most}`;
}

function shareText(rows: readonly LoadRow[]): string {
  return rangeText(
    throughput(rows).map(({ value }) => value),
    2,
  );
}

/** The ratios of a library's call times to Scrollback's, minimum and maximum. */
export function peerText(rows: readonly CallRow[], peer: keyof CallRow["results"]): string {
  const values = rows.flatMap(({ results }) => {
    const [theirs, ours] = [results[peer], results.Scrollback];
    return theirs && ours ? [theirs.medianMs / ours.medianMs] : [];
  });
  return rangeText(values, 2);
}
