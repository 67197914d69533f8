import { type ContestantName, peerNames } from "../backend.ts";
import type { Figures, LoadRow, Results } from "../figures.ts";
import { meanMessageBytes } from "../messages.ts";
import { singleWriterRow } from "../targets.ts";
import { machineText } from "./machine.ts";
import { lengthsText, peerText, quietText, serverColumn, serverOf, summaryTable } from "./summary.ts";
import { type Column, inDigits, ratioText, table, timingText } from "./table.ts";

/** The pictures of the page, with their text alternatives. */
export const pictures = {
  commits: "Commits and reads as a multiple of the time of the raw client, by backend",
  throughput:
    "Commits per second as a share of those of the raw client, by backend and number of connections",
  length: "Milliseconds of an append of one message by the length of the thread, by backend",
  cpu: "Processor time of a commit of one message in the client and in the server, raw and Scrollback, by backend",
} as const;

const picture = (name: keyof typeof pictures) => `![${pictures[name]}](costs/${name}.svg)`;

/** docs/generated/costs.md, generated from the measurements. */
export function costsPage(results: Results): string {
  const { backends } = results;
  return `# Costs

How long commits and reads take, compared with the raw client of each backend. [results.md](../../benchmarks/generated/results.md) has
every figure of the run, also of codecs, chats and frameworks, and the project's targets; [benchmarks/README.md](../../benchmarks/README.md) the method, [scale.md](scale.md) the
costs of 100,000 threads, and [comparison.md](../reference/comparison.md#measured) the times of other libraries. The requests of each call are on the
page of its backend.

${quietText(results)}

| Server | Threads of | Measured |
| --- | --- | --- |
${backends.map((figures) => `| ${serverOf(figures.versions)} | ${lengthsText(figures)} | ${machineText(figures.machine)} |`).join("\n")}

Servers run in containers on the client's machine. Over a network a round trip takes longer, so the ratios are closer to 1. FerretDB
implements MongoDB's protocol on PostgreSQL, and DynamoDB Local keeps its data in memory: times on MongoDB and on AWS differ.

## Compared with the raw client

Medians as a multiple of the raw client's, minimum to maximum over these thread lengths, with messages of ${Math.round(meanMessageBytes())} bytes; commits per second as a
share of the raw client's. The raw client has none of the guarantees: it compares no revision, remembers no operation, and trims within a
turn or not at all.

${summaryTable(backends)}

${picture("commits")}

- **Redis** takes longer than raw because a commit is a script call with three more commands, and Lua hashes each byte of its arguments.
- **MongoDB and DynamoDB** insert a row with a head of about 280 bytes. A few commits in a hundred take several times as long, because a
  thread that trims sends one more request at every 32nd commit (on DynamoDB one for each 25 rows).
- **PostgreSQL** calls a function that locks the thread's row, looks up the operation, inserts and trims.
- **SQLite** with \`FULL\` mostly waits for the disk. With \`NORMAL\` the statements take the time; \`secure_delete\` overwrites trimmed text.

## Processor time

Microseconds per commit of one message, on one connection that commits sequentially to threads of at most 1,000 messages. The client is
the committing process, the server its whole container.

${cpuTable(backends)}

${picture("cpu")}

## Many connections

Writers of one process append messages one by one without a pause. "8 on one" means 8 factories, each with a separate client, that write to one thread.${ofOneFactoryText(backends)}

${loadTable(backends)}

${picture("throughput")}

On Redis, PostgreSQL and SQLite the server or the file orders the writers of a thread. On MongoDB and DynamoDB the factories compete for
the next row, in one process or in several: together they make fewer commits on one thread than one factory alone, and some commits wait
long. So let one factory write to a busy thread. Concurrent appends of one factory
[share rows](../explanation/record-log.md#commits-that-share-a-row). The raw client's writers do not compete: each has numbers of its own.

## Long threads

Milliseconds of an append of one message, the 95th percentile in parentheses. The thread has \`maxMessages\` messages, so each append trims.
Each message was committed separately: a thread of 100,000 messages has 100,000 commits.

${growthTable(backends)}

${picture("length")}

## The first commit

Milliseconds to connect and to commit one message, the 95th percentile in parentheses. On MongoDB and DynamoDB a factory first reads the end
of the thread. Keep factories open, and use one for all threads.

${coldTable(backends)}
`;
}

function cpuTable(backends: readonly Figures[]): string {
  const micros = (value: number | undefined) => (value === undefined ? "-" : value.toFixed(0));
  const columns = (["client", "server"] as const).flatMap((side) =>
    (["raw", "Scrollback"] as const).map(
      (name): Column<Figures> => ({
        title: `${name === "raw" ? "raw" : "ours"}, ${side}`,
        align: "right",
        text: ({ load }) => micros(singleWriterRow(load)?.results[name]?.[`${side}CpuMicros`]),
      }),
    ),
  );
  return table<Figures>([serverColumn, ...columns], backends);
}

/** Explains the rows of several writers of one factory, if there are any. */
function ofOneFactoryText(backends: readonly Figures[]): string {
  const isMeasured = backends.some(({ load }) =>
    load.some(({ connections, clients }) => connections > 1 && clients === "one"),
  );
  return isMeasured
    ? ' "8 of one on one" means 8 writers of one\nfactory, whose client has up to 8 connections or more.'
    : "";
}

function loadTable(backends: readonly Figures[]): string {
  const rows = backends.flatMap(({ versions, load }) =>
    load
      .filter(({ connections, threads, clients }) =>
        connections > 8 ? threads === "one" && clients === "many" : connections > 1,
      )
      .map((row) => ({ server: serverOf(versions), ...row })),
  );
  type Row = LoadRow & { readonly server: string };
  const perSecond = (row: Row, name: ContestantName) =>
    row.results[name] ? Math.round(row.results[name].perSecond).toLocaleString("en") : "-";
  const waits = ({ results: { Scrollback } }: Row) =>
    Scrollback
      ? [Scrollback.medianMs, Scrollback.percentile99Ms, Scrollback.longestMs]
          .map((ms) => inDigits(ms, 1))
          .join(", ")
      : "-";
  return table<Row>(
    [
      { title: "", align: "left", text: ({ server }) => server },
      {
        title: "writers",
        align: "left",
        text: ({ connections, threads, clients }) =>
          `${connections}${clients === "one" ? " of one" : ""} on ${threads === "one" ? "one" : connections}`,
      },
      { title: "raw, commits/s", align: "right", text: (row) => perSecond(row, "raw") },
      { title: "Scrollback", align: "right", text: (row) => perSecond(row, "Scrollback") },
      {
        title: "× raw",
        align: "right",
        text: ({ results }) => ratioText(results.Scrollback?.perSecond, results.raw?.perSecond),
      },
      { title: "ms: median, 99 %, longest", align: "right", text: waits },
    ],
    rows,
  );
}

function growthTable(backends: readonly Figures[]): string {
  const lengths = [10, 1_000, 100_000];
  const at = ({ calls }: Figures, length: number) =>
    calls.find((row) => row.operation === "append 1" && row.length === length)?.results.Scrollback;
  return table<Figures>(
    [
      serverColumn,
      ...lengths.map(
        (length): Column<Figures> => ({
          title: `append 1 at ${length.toLocaleString("en")}`,
          align: "right",
          text: (figures) => timingText(at(figures, length)),
        }),
      ),
      {
        title: "100,000 / 10",
        align: "right",
        text: (figures) => ratioText(at(figures, 100_000)?.medianMs, at(figures, 10)?.medianMs),
      },
    ],
    backends,
  );
}

function coldTable(backends: readonly Figures[]): string {
  const columns = (["new", "known"] as const).flatMap((thread) =>
    (["raw", "Scrollback"] as const).map(
      (name): Column<Figures> => ({
        title: `${name}, ${thread === "new" ? "new thread" : "thread of 1,000"}`,
        align: "right",
        text: ({ cold }) => timingText(cold.find((row) => row.thread === thread)?.results[name]),
      }),
    ),
  );
  return table<Figures>([serverColumn, ...columns], backends);
}

/** The call times of other libraries, by backend. */
export function peerTable(backends: readonly Figures[]): string {
  const rows = backends.flatMap((figures) =>
    peerNames
      .filter((peer) => figures.calls.some(({ results }) => results[peer]))
      .map((peer) => ({ figures, peer })),
  );
  const of = (operation: string): Column<(typeof rows)[number]> => ({
    title: operation,
    align: "right",
    text: ({ figures, peer }) =>
      peerText(
        figures.calls.filter((row) => row.operation === operation),
        peer,
      ),
  });
  return table<(typeof rows)[number]>(
    [
      { title: "", align: "left", text: ({ figures }) => serverOf(figures.versions) },
      { title: "library", align: "left", text: ({ peer }) => peer },
      of("append 1"),
      of("append 20"),
      of("newest 20"),
      of("all"),
    ],
    rows,
  );
}
