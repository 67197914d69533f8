import type { FrameworkFigures, FrameworkRow } from "../figures.ts";
import { machineText } from "./machine.ts";
import { ratioText, table, timingText } from "./table.ts";

/** All measurements of frameworks, for the report. */
export function frameworkSection(figures: FrameworkFigures): string {
  const { machine, versions } = figures;
  return `## Frameworks

${[...versions, machineText(machine)].map((line) => `- ${line}`).join("\n")}

${turnTables(figures)}`;
}

function turnTables({ turns, rows }: FrameworkFigures): string {
  const of = (framework: FrameworkRow["framework"]) => rows.filter((row) => row.framework === framework);
  return `A turn with a model that answers immediately, all in one run and alternating: milliseconds (95th percentile in parentheses), the ratio to the
median of the framework's own class in memory, processor time of the process in microseconds, commits and reads of Scrollback's stores and round
trips to the server in a turn after a thread's first, and bytes at rest per turn, including indexes and replaced data that is not yet freed.
Threads have ${turns} turns.

LangGraph: a graph of one node, which is two steps, with \`durability: "sync"\`.

${turnTable(of("LangGraph"))}

OpenAI Agents SDK: a question, a tool call with its result, and an answer.

${turnTable(of("OpenAI Agents SDK"))}`;
}

function turnTable(rows: readonly FrameworkRow[]): string {
  const base = rows.find(({ isOurs, backend }) => !isOurs && backend === "memory")?.medianMs;
  const count = (value: number | undefined) => (value === undefined ? "-" : String(Number(value.toFixed(2))));
  const whole = (value: number | undefined) =>
    value === undefined ? "-" : Math.round(value).toLocaleString("en");
  return table<FrameworkRow>(
    [
      { title: "", align: "left", text: ({ name }) => name },
      { title: "on", align: "left", text: ({ backend }) => backend },
      { title: "ms", align: "right", text: timingText },
      { title: "×", align: "right", text: ({ medianMs }) => ratioText(medianMs, base) },
      { title: "µs", align: "right", text: ({ cpuMicros }) => cpuMicros.toFixed(0) },
      { title: "commits", align: "right", text: ({ commits }) => count(commits) },
      { title: "reads", align: "right", text: ({ reads }) => count(reads) },
      { title: "round trips", align: "right", text: ({ roundTrips }) => count(roundTrips) },
      { title: "bytes", align: "right", text: ({ bytes }) => whole(bytes) },
    ],
    rows,
  );
}
