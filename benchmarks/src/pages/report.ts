import { type ContestantName, contestantNames } from "../backend.ts";
import type { CallRow, CodecRow, ColdRow, Figures, LoadRow, Results, TracingMode } from "../figures.ts";
import { meanMessageBytes } from "../messages.ts";
import { ROOM } from "../operations.ts";
import { judge, judgeChats, judgeFrameworks } from "../targets.ts";
import { chatSection } from "./chats.ts";
import { frameworkSection } from "./frameworks.ts";
import { limitsText } from "./limits.ts";
import { machineText } from "./machine.ts";
import { type Column, inDigits, ratioText, table, timingText } from "./table.ts";

/** Cells with fewer calls than this are listed individually. */
const FEW_CALLS = 50;

const number = (value: number) => Math.round(value).toLocaleString("en");

/** The report of a run: benchmarks/generated/results.md. */
export function report(results: Results): string {
  const { backends, codecs, chats, frameworks } = results;
  const sections = [
    ...backends.map(section),
    codecSection(codecs),
    chatSection(chats),
    frameworkSection(frameworks),
  ];
  return `${[introduction(), ...sections, targetSection(results), limitsText(backends)].join("\n\n")}\n`;
}

function introduction(): string {
  return `# Benchmark

Milliseconds per call: the median, and the 95th percentile in parentheses. "×raw" is the ratio of the
medians to the raw client's, in one run with all calls interleaved. "trips" are the round trips of a
call, in the order of the columns. Messages have ${Math.round(meanMessageBytes())} bytes of JSON on average. An append also trims
its thread to ${ROOM} messages above the length in the table. Other libraries keep all messages, and LangChain.js reads
all of them for the newest 20. [README.md](../README.md) describes the method. \`npm run bench\` writes this page
from results.json.`;
}

/** All tables of a backend. */
export function section(figures: Figures): string {
  const { title, versions, baseline, machine } = figures;
  const notes = [...versions, `raw: ${baseline}`, machineText(machine)];
  return `## ${title}

${notes.map((line) => `- ${line}`).join("\n")}

${callTable(figures.calls)}

${callCounts(figures.calls)}

Connections that append without a pause: commits per second, milliseconds per commit (median, 99th percentile, longest), and
processor time per commit. "×raw" is the ratio of commits per second: higher is better.

${loadTable(figures.load)}

The first commit on a new connection, including the time to connect, in milliseconds:

${coldTable(figures.cold)}

A commit of one message with OpenTelemetry, in milliseconds:

${tracingTable(figures)}`;
}

/** One row per call, with a column for each contestant that has figures. */
export function callTable(rows: readonly CallRow[]): string {
  const names = contestantNames.filter((name) => rows.some(({ results }) => results[name]));
  const others = names.filter((name) => name !== "raw");
  const hasTrips = rows.some(({ results }) => results.raw?.roundTrips !== undefined);
  const trips = ({ results }: CallRow) => names.map((name) => tripsText(results[name]?.roundTrips)).join("·");
  const columns: Column<CallRow>[] = [
    { title: "", align: "left", text: ({ operation }) => operation },
    { title: "thread", align: "right", text: ({ length }) => number(length) },
    ...(hasTrips ? [{ title: "trips", align: "right", text: trips } as const] : []),
    { title: "raw", align: "right", text: ({ results }) => timingText(results.raw) },
    ...others.flatMap((name): Column<CallRow>[] => [
      { title: name, align: "right", text: ({ results }) => timingText(results[name]) },
      { title: "×raw", align: "right", text: ({ results }) => overRaw(results, name) },
    ]),
  ];
  return table(columns, rows);
}

function tripsText(trips: number | undefined): string {
  return trips === undefined ? "-" : String(Number(trips.toFixed(2)));
}

function overRaw(results: CallRow["results"], name: ContestantName): string {
  return ratioText(results[name]?.medianMs, results.raw?.medianMs);
}

/** The numbers of calls behind the figures. */
function callCounts(rows: readonly CallRow[]): string {
  const cells = rows.flatMap(({ operation, length, results }) =>
    Object.entries(results).map(([name, { calls }]) => ({
      calls,
      where: `${name}, ${operation} at ${number(length)}`,
    })),
  );
  const few = cells.filter(({ calls }) => calls < FEW_CALLS);
  const counts = cells.map(({ calls }) => calls).filter((calls) => calls >= FEW_CALLS);
  const range =
    counts.length === 0 ? [] : [`${number(Math.min(...counts))} to ${number(Math.max(...counts))} each`];
  return `Measured calls: ${[...range, ...few.map(({ calls, where }) => `${where}: ${calls}`)].join("; ")}.`;
}

/** A row for each number of connections, with raw and Scrollback side by side. */
export function loadTable(rows: readonly LoadRow[]): string {
  const hasServer = rows.some(({ results }) => results.raw?.serverCpuMicros !== undefined);
  const hasFailures = rows.some(({ results }) => Object.values(results).some(({ failures }) => failures > 0));
  const sides = ["raw", "Scrollback"] as const;
  const each = (name: string, text: (load: NonNullable<LoadRow["results"]["raw"]>) => string) =>
    sides.map(
      (side): Column<LoadRow> => ({
        title: side === "raw" ? `raw ${name}` : name,
        align: "right",
        text: ({ results }) => (results[side] ? text(results[side]) : "-"),
      }),
    );
  const columns: Column<LoadRow>[] = [
    { title: "writers", align: "right", text: ({ connections }) => String(connections) },
    {
      title: "clients",
      align: "right",
      text: ({ connections, clients }) => String(clients === "one" ? 1 : connections),
    },
    {
      title: "threads",
      align: "right",
      text: ({ connections, threads }) => String(threads === "one" ? 1 : connections),
    },
    { title: "batch", align: "right", text: ({ batch }) => String(batch) },
    ...each("/s", ({ perSecond }) => number(perSecond)),
    {
      title: "×raw",
      align: "right",
      text: ({ results }) => ratioText(results.Scrollback?.perSecond, results.raw?.perSecond),
    },
    ...each("ms", ({ medianMs, percentile99Ms, longestMs }) =>
      [medianMs, percentile99Ms, longestMs].map((ms) => inDigits(ms, 2)).join(", "),
    ),
    ...each("client µs", ({ clientCpuMicros }) => number(clientCpuMicros)),
    ...(hasServer
      ? each("server µs", ({ serverCpuMicros }) =>
          serverCpuMicros === undefined ? "-" : number(serverCpuMicros),
        )
      : []),
    ...(hasFailures ? each("failed", ({ failures }) => number(failures)) : []),
  ];
  return table(columns, rows);
}

function coldTable(rows: readonly ColdRow[]): string {
  return table<ColdRow>(
    [
      {
        title: "",
        align: "left",
        text: ({ thread }) => `to a ${thread === "new" ? "new thread" : "thread of 1,000"}`,
      },
      { title: "raw", align: "right", text: ({ results }) => timingText(results.raw) },
      { title: "Scrollback", align: "right", text: ({ results }) => timingText(results.Scrollback) },
      {
        title: "×raw",
        align: "right",
        text: ({ results }) => ratioText(results.Scrollback?.medianMs, results.raw?.medianMs),
      },
    ],
    rows,
  );
}

const modeNames: Readonly<Record<TracingMode, string>> = {
  off: "switched off",
  api: "the API without an SDK",
  sdk: "an SDK that batches spans",
};

export function tracingTable({ tracing }: Pick<Figures, "tracing">): string {
  const modes: readonly TracingMode[] = ["off", "api", "sdk"];
  return table<TracingMode>(
    [
      { title: "", align: "left", text: (mode) => modeNames[mode] },
      { title: "append 1", align: "right", text: (mode) => timingText(tracing[mode]) },
      {
        title: "×off",
        align: "right",
        text: (mode) => ratioText(tracing[mode].medianMs, tracing.off.medianMs),
      },
      { title: "client µs", align: "right", text: (mode) => number(tracing[mode].clientCpuMicros) },
    ],
    modes,
  );
}

/** The costs of the codecs. */
export function codecSection(codecs: Results["codecs"]): string {
  return `## Codecs

- ${machineText(codecs.machine)}

A thread of 1,000 on SQLite, synchronous NORMAL; "×json" is the ratio of the medians to jsonCodec's, "bytes" the average size of
an encoded message.

${codecTable(codecs)}`;
}

function codecTable({ rows }: Results["codecs"]): string {
  const json = rows.find(({ name }) => name === "jsonCodec");
  const columns = (["reads", "appends"] as const).flatMap((key): Column<CodecRow>[] => [
    {
      title: key === "reads" ? "newest 20" : "append 20",
      align: "right",
      text: (row) => timingText(row[key]),
    },
    { title: "×json", align: "right", text: (row) => ratioText(row[key].medianMs, json?.[key].medianMs) },
  ]);
  return table<CodecRow>(
    [
      { title: "", align: "left", text: ({ name }) => name },
      ...columns,
      { title: "bytes", align: "right", text: ({ bytes }) => bytes.toFixed(0) },
    ],
    rows,
  );
}

/** The measured figures that targets are compared with. */
type Judged = Pick<Results, "backends"> & { [Part in "chats" | "frameworks"]: Results[Part] | undefined };

/** The targets, and whether they are met. */
export function targetSection(results: Judged): string {
  return `## Targets

The worst figure of the run for each target, and whether it is met. Targets for medians apply to all thread lengths.

${targetTable(results)}`;
}

function targetTable({ backends, chats, frameworks }: Judged): string {
  const verdicts = [
    ...backends.flatMap((figures) => judge(figures).map((verdict) => ({ name: figures.title, ...verdict }))),
    ...(chats ? judgeChats(chats) : []).map((verdict) => ({ name: "Chats", ...verdict })),
    ...(frameworks ? judgeFrameworks(frameworks) : []).map((verdict) => ({ name: "Frameworks", ...verdict })),
  ];
  return table<(typeof verdicts)[number]>(
    [
      { title: "", align: "left", text: ({ name }) => name },
      { title: "target", align: "left", text: ({ target }) => target },
      { title: "worst", align: "left", text: ({ worst }) => worst },
      { title: "", align: "left", text: ({ met }) => (met ? "met" : "missed") },
    ],
    verdicts,
  );
}
