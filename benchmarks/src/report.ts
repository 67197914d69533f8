import { availableParallelism } from "node:os";
import { type Backend, type ContestantName, contestantNames } from "./backend.ts";
import { meanMessageBytes } from "./messages.ts";
import { ROOM } from "./operations.ts";
import type { Result, Row } from "./run.ts";
import { median, percentile95, ratio } from "./statistics.ts";
import { judge } from "./targets.ts";

/** Fewer calls than this are told one by one. */
const FEW_CALLS = 50;

/** What the report needs of a backend that was measured. */
export interface Measured {
  readonly backend: Backend;
  readonly rows: readonly Row[];
}

/** What stands above the tables. */
export function introduction(): string {
  return `# Benchmark

Milliseconds a call: the median, and the 95th percentile in parentheses. "×raw" is the ratio of the
medians to the raw client's, of one run with all calls interleaved. "trips" are the round trips of a
call: raw, Scrollback, LangChain.js. Messages have ${Math.round(meanMessageBytes())} bytes of JSON on average. An append also trims
its thread to the length in the table and ${ROOM} more; LangChain.js keeps everything, and reads
everything for the newest 20. How it is measured stands in README.md beside this file.

Machine: ${availableParallelism()} cores, Node ${process.versions.node}.`;
}

/** A backend's table. */
export function section({ backend, rows }: Measured): string {
  const names = contestantNames.filter((name) => backend.contestants[name]);
  const others = names.filter((name) => name !== "raw");
  const trips = (row: Row) => names.map((name) => row.results[name]?.roundTrips ?? "-").join("·");
  const columns: Column<Row>[] = [
    { title: "", align: "left", text: ({ operation }) => operation.name },
    { title: "thread", align: "right", text: ({ length }) => length.toLocaleString("en") },
    ...(backend.counted ? [{ title: "trips", align: "right", text: trips } as const] : []),
    { title: "raw", align: "right", text: ({ results }) => timesOf(results.raw) },
    ...others.flatMap((name): Column<Row>[] => [
      { title: name, align: "right", text: ({ results }) => timesOf(results[name]) },
      { title: "×raw", align: "right", text: (row) => overRaw(row, name) },
    ]),
  ];
  return `## ${backend.name}

${[...backend.versions, `raw: ${backend.baseline}`].map((line) => `- ${line}`).join("\n")}

${table(columns, rows)}

${callCounts(rows)}`;
}

/** What became of the targets. */
export function targets(measured: readonly Measured[]): string {
  const verdicts = measured.flatMap(({ backend, rows }) =>
    judge(backend, rows).map((verdict) => ({ name: backend.name, ...verdict })),
  );
  const columns: Column<(typeof verdicts)[number]>[] = [
    { title: "", align: "left", text: ({ name }) => name },
    { title: "target", align: "left", text: ({ target }) => target },
    { title: "worst", align: "left", text: ({ worst }) => worst },
    { title: "", align: "left", text: ({ met }) => (met ? "met" : "missed") },
  ];
  return `## Targets\n\n${table(columns, verdicts)}`;
}

/** The median, and the 95th percentile in parentheses. */
export function timesOf(result: Pick<Result, "times"> | undefined): string {
  if (!result) return "-";
  return `${inDigits(median(result.times), 3)} (${inDigits(percentile95(result.times), 3)})`;
}

function overRaw(row: Row, name: ContestantName): string {
  const [one, raw] = [row.results[name], row.results.raw];
  return one && raw ? inDigits(ratio(one.times, raw.times), 2) : "-";
}

/** A number with three digits that count, but below 1 with `decimals` decimals. */
export function inDigits(value: number, decimals: number): string {
  return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : decimals);
}

/** On how many calls the figures stand. */
function callCounts(rows: readonly Row[]): string {
  const cells = rows.flatMap(({ operation, length, results }) =>
    Object.entries(results).map(([name, { times }]) => ({
      calls: times.length,
      where: `${name}, ${operation.name} at ${length.toLocaleString("en")}`,
    })),
  );
  const few = cells.filter(({ calls }) => calls < FEW_CALLS);
  const counts = cells.map(({ calls }) => calls).filter((calls) => calls >= FEW_CALLS);
  const [least, most] = [Math.min(...counts), Math.max(...counts)].map((count) => count.toLocaleString("en"));
  return [
    `Measured calls: ${least} to ${most} each`,
    ...few.map(({ calls, where }) => `${where}: ${calls}`),
  ].join("; ");
}

export interface Column<Item> {
  readonly title: string;
  readonly align: "left" | "right";
  text(item: Item): string;
}

/** A Markdown table whose source is aligned too. */
export function table<Item>(columns: readonly Column<Item>[], items: readonly Item[]): string {
  const laidOut = columns.map(({ title, align, text }) => {
    const cells = [title, ...items.map(text)];
    const width = Math.max(...cells.map((cell) => cell.length));
    const pad = (cell: string) => (align === "left" ? cell.padEnd(width) : cell.padStart(width));
    const rule = align === "left" ? "-".repeat(width) : `${"-".repeat(width - 1)}:`;
    return { cells: cells.map(pad), rule };
  });
  const lines = [...items.keys(), items.length].map(
    (line) => `| ${laidOut.map(({ cells }) => cells[line]).join(" | ")} |`,
  );
  lines.splice(1, 0, `| ${laidOut.map(({ rule }) => rule).join(" | ")} |`);
  return lines.join("\n");
}
