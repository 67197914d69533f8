import { readFileSync, writeFileSync } from "node:fs";
import { meanMessageBytes } from "./messages.ts";
import {
  type BackendResults,
  type ColdStart,
  loadResults,
  type Machine,
  type Results,
  type Row,
  type ScaleResults,
} from "./results.ts";
import { judge } from "./targets.ts";

const ROOT = new URL("../../", import.meta.url);
const COMPARISON = "docs/reference/comparison.md";

/** Every page with figures, by its path below the root. */
export function pagesOf(results: Results): Map<string, string> {
  const comparison = readFileSync(new URL(COMPARISON, ROOT), "utf8");
  const marked = /(?<=<!-- figures -->).*(?=<!-- end of figures -->)/s;
  if (!marked.test(comparison)) throw new Error(`${COMPARISON} has no marks for figures`);
  return new Map([
    ["docs/generated/benchmarks.md", page(results)],
    [COMPARISON, comparison.replace(marked, () => `\n\n${comparedTable(results.backends)}\n\n`)],
  ]);
}

export function writePages(): void {
  for (const [path, text] of pagesOf(loadResults())) writeFileSync(new URL(path, ROOT), text);
}

function page({ backends, scale, coldStart }: Results): string {
  return `# Benchmarks

How long calls take, compared with a raw client of the same backend and with one other library. [benchmarks/README.md](../../benchmarks/README.md) says how
this is measured. The requests of every call are on the page of its backend.

- **raw** is hand-written code without any of the guarantees: it compares no revision, remembers no operation, and trims by count or not
  at all. The last column of ratios is ours divided by raw.
- Messages have ${Math.round(meanMessageBytes())} bytes on average, threads 1,000 messages, and ours trims at 1,020.
- All contestants of a row are measured in turn in one process, so ratios are more reliable than times. Servers run in
  containers on the client's machine: over a network a round trip takes longer, and the ratios are closer to 1. FerretDB
  implements MongoDB's protocol on PostgreSQL, and DynamoDB Local is not AWS: times there differ.
- **requests** is how often a call of ours waits for the server, averaged over 64 calls.
- A dash: not measured.

## What a commit costs

On **Redis** a commit is a script call with three more commands, and Lua hashes each byte of its arguments: about 0.04 ms of the server's one core. **PostgreSQL** calls a
function that locks the thread's row, looks up the operation, inserts and trims. **SQLite** with \`FULL\` mostly waits for the disk; with \`NORMAL\` the
statements take the time, and \`secure_delete\` overwrites trimmed text. **MongoDB** updates one document, and **DynamoDB** a head and an item a message in a
transaction. The time does not grow with the thread. The first call of a factory also connects, and reads the thread's head on MongoDB, DynamoDB, libSQL and D1: keep
factories open, and use one for all threads.

## Many connections

Rows with "8" count commits of one message per second, of eight writers of one process without a pause; there the ratio is a share, of which more is better. On Redis,
PostgreSQL and SQLite the server or the file orders the writers of a thread. On MongoDB, DynamoDB, libSQL and D1 factories compete for the next commit, in one
process or in several: together they make fewer commits on one thread than one factory alone, and some wait long. So let one factory write to a busy
thread: its concurrent appends share requests. The raw client's writers do not compete.

${backends.map(backendSection).join("\n\n")}

## Scale

Milliseconds of ours, as one thread grows to 100,000 messages, and a database to as many threads. Threads have no \`maxMessages\`; the listing returns the first 100.

${scaleTable(scale)}

${scale.flatMap(({ title, note }) => (note === undefined ? [] : `- ${title}: ${note}`)).join("\n")}
${coldStart ? `\n## Cold start\n\n${coldStartSection(coldStart)}\n` : ""}`;
}

/** The most that ours may take: a ratio to the bare client over a network, elsewhere milliseconds of our own modules. */
const COLD_START = { ratio: 1.3, importMs: 40 };

export function coldStartSection({ machine, rows }: ColdStart): string {
  const table = tableOf(
    ["ms", "bare client", "ours", "ours / bare", "our modules", "target"],
    rows.map(({ runtime, name, raw, ours, imports }) => {
      const isRemote = name === "Redis" || name === "PostgreSQL";
      const met = isRemote ? ours / (raw ?? Number.NaN) <= COLD_START.ratio : imports <= COLD_START.importMs;
      const target = isRemote ? `${COLD_START.ratio} x bare` : `${COLD_START.importMs} ms of modules`;
      return {
        ms: `${name}, ${runtime}`,
        "bare client": text(raw),
        ours: text(ours),
        "ours / bare": text(ratio(ours, raw)),
        "our modules": text(imports),
        target: `${target}${met ? "" : ", missed"}`,
      };
    }),
  );
  return `Milliseconds of a new process from its first import to its first stored message. The tables are there, except in SQLite's new file. In workerd: from its start to a reply; in place of the bare client an empty Worker, and our modules are what importing them adds to it.\n\n${table}\n\n- ${machineText(machine)}`;
}

/** A backend's table, with the circumstances of its measurement. */
export function backendSection({
  key,
  title,
  versions,
  baseline,
  other,
  note,
  rows,
}: BackendResults): string {
  // Figures of an earlier state meet and miss no target.
  const judged = (row: Row) => (note === undefined ? judge(key, row) : undefined);
  const table = tableOf(
    [
      "ms, or commits/s",
      "raw",
      "ours",
      "ours / raw",
      ...(rows.some(judged) ? ["target"] : []),
      ...(rows.some((row) => row.other !== undefined) ? [other ?? "LangGraph's own", "ours / it"] : []),
      ...(rows.some(({ requests }) => requests !== undefined) ? ["requests"] : []),
    ],
    rows.map((row) => {
      const verdict = judged(row);
      return {
        "ms, or commits/s": row.name,
        raw: text(row.raw),
        ours: text(row.ours),
        "ours / raw": text(ratio(row.ours, row.raw)),
        target: verdict ? `${verdict.target}${verdict.met ? "" : ", missed"}` : "",
        [other ?? "LangGraph's own"]: text(row.other),
        "ours / it": text(ratio(row.ours, row.other)),
        requests: text(row.requests),
      };
    }),
  );
  const failed = rows.filter((row) => row.failed !== undefined);
  return [
    `## ${title}`,
    ...(note === undefined ? [] : [`**${note}**`]),
    table,
    [
      `- ${versions.join("; ")}`,
      `- raw: ${baseline}`,
      ...(rows.some((row) => row.name === "LangGraph turn" && row.other !== undefined)
        ? [
            `- LangGraph turn: a turn of two steps on the bridge, and on LangGraph's own class for this backend`,
          ]
        : []),
      ...(rows.some(({ name }) => name === "chat turn")
        ? [
            "- chat turn: a question, two drafts and an answer in a `ChatStore`; raw: two hand-written tables",
            "- chat with a photo: a chat with a message of 1 MB is created, read and deleted; ours stores the photo apart, raw in the message",
          ]
        : []),
      ...machinesOf(rows),
      ...failed.map(({ name, failed }) => `- ${name}: ${failed} commits of ours failed`),
    ].join("\n"),
  ].join("\n\n");
}

/** One line for each circumstance of rows. */
function machinesOf(rows: readonly Row[]): string[] {
  const names = new Map<string, string[]>();
  for (const { name, machine } of rows)
    names.set(machineText(machine), [...(names.get(machineText(machine)) ?? []), name]);
  return [...names].map(([machine, of]) =>
    names.size === 1 ? `- ${machine}` : `- ${of.join("; ")}: ${machine}`,
  );
}

function machineText({ date, node, cores, load }: Machine): string {
  const busy = load > cores + 1 ? ": the machine was busy with other work" : "";
  return `measured ${date}, Node ${node}, ${cores} cores, load average up to ${load.toFixed(1)}${busy}`;
}

export function scaleTable(scale: readonly ScaleResults[]): string {
  const lines = scale.flatMap(({ title, machine, rows }) =>
    rows.map(({ operation, points }) => {
      const what = operation === "list 100 threads" ? "threads" : "messages";
      const cells = Object.fromEntries(points.map(({ size, ms }) => [inEnglish(size), text(ms)]));
      return { "": title, call: operation, of: what, ...cells, measured: machine.date };
    }),
  );
  const sizes = new Set(
    scale.flatMap(({ rows }) => rows.flatMap(({ points }) => points.map(({ size }) => size))),
  );
  const sorted = [...sizes].toSorted((one, other) => one - other).map(inEnglish);
  return tableOf(["", "call", "of", ...sorted, "measured"], lines);
}

/** The time of other libraries as a multiple of ours, without figures of an earlier state. */
function comparedTable(backends: readonly BackendResults[]): string {
  const columns = ["append 1", "append 20", "newest 20", "all of 1,000"] as const;
  const compared = backends.filter(({ other, note }) => other !== undefined && note === undefined);
  return tableOf(
    ["", "library", ...columns, "measured"],
    compared.map(({ versions, other = "", rows }) => {
      const cells = columns.map((name) => {
        const row = rows.find((one) => one.name === name);
        return [name, text(ratio(row?.other, row?.ours))];
      });
      const measured = rows.find(({ name }) => name === "append 1")?.machine.date ?? "";
      const server = (versions[0] ?? "").replace(
        / \(node:sqlite\), WAL, synchronous|, synchronous_commit on/,
        "",
      );
      return { "": server, library: other, ...Object.fromEntries(cells), measured };
    }),
  );
}

type Cells = Readonly<Record<string, string>>;

/** A Markdown table with an aligned source: texts to the left, figures to the right. */
function tableOf(columns: readonly string[], lines: readonly Cells[]): string {
  const laidOut = columns.map((title, index) => {
    const cells = lines.map((line) => line[title] ?? "-");
    const width = Math.max(3, title.length, ...cells.map((cell) => cell.length));
    const isText = index === 0 || cells.every((cell) => /^[^\d-]|^\d{4}-/.test(cell));
    const pad = (cell: string) => (isText ? cell.padEnd(width) : cell.padStart(width));
    const rule = isText ? "-".repeat(width) : `${"-".repeat(width - 1)}:`;
    return [pad(title), rule, ...cells.map(pad)];
  });
  return Array.from(
    { length: lines.length + 2 },
    (_, row) => `| ${laidOut.map((cells) => cells[row]).join(" | ")} |`,
  ).join("\n");
}

function ratio(value: number | undefined, base: number | undefined): number | undefined {
  return value === undefined || base === undefined ? undefined : value / base;
}

/** Three digits, and no more than three decimals; a dash if it was not measured. */
function text(value: number | undefined): string {
  if (value === undefined) return "-";
  if (value >= 100) return inEnglish(Math.round(value));
  return value.toFixed(value >= 10 ? 1 : value >= 1 ? 2 : 3);
}

const inEnglish = (value: number) => value.toLocaleString("en");
