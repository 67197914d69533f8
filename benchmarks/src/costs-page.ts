import { type ContestantName, peerNames } from "./backend.ts";
import type { Figures, LoadRow, Results, TracingMode } from "./figures.ts";
import { machineText } from "./machine.ts";
import { meanMessageBytes } from "./messages.ts";
import { targetTable } from "./report.ts";
import { lengthsText, peerText, quietText, serverOf, summaryTable } from "./summary.ts";
import { type Column, inDigits, ratioText, table, timingText } from "./table.ts";

/** The pictures of the page, and what each shows for those who cannot see it. */
export const pictures = {
  commits: "Commits and reads as a multiple of the time of the raw client, by backend",
  throughput: "Commits a second as a share of those of the raw client, by backend and number of connections",
  length: "Milliseconds of an append of one message by the length of the thread, by backend",
  cpu: "Processor time of a commit of one message in the client and in the server, raw and Scrollback, by backend",
} as const;

const picture = (name: keyof typeof pictures) => `![${pictures[name]}](costs/${name}.svg)`;

/** docs/reference/costs.md, written from what was measured. */
export function costsPage(results: Results): string {
  const { backends } = results;
  return `# What a commit costs

This page says what a commit and a read cost beside the raw client of each backend, and why. \`npm run bench\` measures it and writes this
page; [benchmarks/results.md](../../benchmarks/results.md) has every figure, [benchmarks/README.md](../../benchmarks/README.md) the method, and
[scale.md](scale.md) what 100,000 threads cost.

${quietText(results)}

| Server | Threads of | Measured |
| --- | --- | --- |
${backends.map((figures) => `| ${serverOf(figures.versions)} | ${lengthsText(figures)} | ${machineText(figures.machine)} |`).join("\n")}

Servers run in containers on the machine of the client. Over a network a round trip takes longer, and the ratios come closer to 1. "FerretDB" speaks MongoDB's protocol over PostgreSQL, and DynamoDB Local keeps its data in memory: times on MongoDB and on AWS
differ.

## Beside the raw client

Medians as a multiple of the raw client's, least to most over these lengths of threads, with messages of ${Math.round(meanMessageBytes())} bytes; commits a second as a
share of the raw client's. The raw client keeps none of the promises: it compares no revision, remembers no operation, and trims in the
middle of a turn or not at all.

${summaryTable(backends)}

${picture("commits")}

## What a commit does

**In the client, on every backend.** The store checks the arguments, checks that each message is plain JSON, encodes it, and
makes an operation id. A digest of the change is made only where the caller gave the operation id: no other change can have an
id that the store made itself. The first attempt runs outside of the code that retries. Without an observer, observation reads
one property.

**Redis.** One \`EVALSHA\` in one round trip, whatever the size of the batch. The script reads the thread's footer and looks the operation up
(\`LINDEX\`, \`HMGET\`), trims (\`LTRIM\`), appends messages and footer (\`RPUSH\`), and sets the revision and the operation's mark (\`HSET\`). Raw is
\`RPUSH\` and \`LTRIM\` in a pipeline. The difference is the call of the script, three commands more, and Lua's hash of every byte of each argument.
See [store-redis.md](store-redis.md#costs).

**MongoDB, DynamoDB, PostgreSQL.** One conditional insert of a row with the messages and a head of about 280 bytes. The head describes the
thread after the row, so nothing else has to be written. A thread that trims sends one more request at every 32nd commit, which blanks and
frees old rows; one that keeps many commits also reads heads of old rows from time to time. So a few commits in a hundred take several times as long: they are in the 95th
and 99th percentiles, not in the median. Raw inserts a row of as many bytes. See [record-log.md](../explanation/record-log.md#costs).

**SQLite.** One transaction: the thread's row is looked up, messages are inserted, old ones deleted, the commit is recorded. An operation is
looked up only where the caller gave its id, or where an attempt was made before. With \`FULL\` the flush to the disk takes most of the time; with \`NORMAL\` nothing is flushed, and the statements are what is measured.
\`secure_delete\` is on, so trimmed text is overwritten. See [store-sqlite.md](store-sqlite.md#costs).

## Processor time

One connection, commits one after the other, threads of at most 1,000 messages. The client is the process that commits, the server its
whole container. Time includes the driver of the backend and the event loop.

${cpuTable(backends)}

${picture("cpu")}

## Many connections

All connections belong to one process and append messages one by one without a pause. Raw and Scrollback write in turn, for half a second
each. "8 on one" means 8 connections that write to one thread.

${loadTable(backends)}

${picture("throughput")}

On Redis and SQLite, writers to one thread are ordered by the server or the file. On a record log they compete for the next number: the
first insert wins, and the others read the winning row and retry, from the second loss on after a random pause. A process that has won
8 times in succession pauses, too, so that no writer waits for long. So one thread takes fewer
commits a second than many threads, and some commits wait long. The raw client gives each writer a number of its own, so its writers never
compete.

## Long threads

${picture("length")}

The thread is at its \`maxMessages\`, so each append trims. On MongoDB, DynamoDB and PostgreSQL each message was committed alone: a thread of
100,000 messages has 100,000 commits.

${growthTable(backends)}

## The first commit

A new connection, with connecting, and its first commit of one message, in milliseconds (95th percentile in parentheses). A record log reads
the thread's end first: 1 read and 2 inserts for a new thread, up to 2 reads and 1 insert for one that is there. Keep factories; make one for
all threads.

${coldTable(backends)}

## Tracing

A commit of one message where OpenTelemetry is switched off (\`OTEL_SDK_DISABLED=true\`), where its API is installed without an SDK, and with an
SDK that batches spans and drops them. Each runs in a process of its own; they commit in turn.

${tracingTable(backends)}

## Other libraries

How many times as long as Scrollback's the calls of other libraries take: below 1 they are faster. They keep fewer promises:
LangChain.js has no batches on Redis, MongoDB and PostgreSQL, reads a whole history for its newest messages, and does not trim. Mastra's memory is measured without semantic recall, on
threads of up to 1,000 messages.

${peerTable(backends)}

## Targets

What the project set itself, the worst figure of the run for each, and whether it is met. Targets on medians compare all lengths of threads.

${targetTable(results)}
`;
}

const first: Column<Figures> = { title: "", align: "left", text: ({ versions }) => serverOf(versions) };

function cpuTable(backends: readonly Figures[]): string {
  const micros = (value: number | undefined) => (value === undefined ? "-" : value.toFixed(0));
  const columns = [1, 20].flatMap((batch) => {
    const of = ({ load }: Figures) =>
      load.find((row) => row.connections === 1 && row.batch === batch)?.results;
    return (["client", "server"] as const).flatMap((side) =>
      (["raw", "Scrollback"] as const).map(
        (name): Column<Figures> => ({
          title: `${name === "raw" ? "raw" : "ours"}, ${side}, ${batch}`,
          align: "right",
          text: (figures) => micros(of(figures)?.[name]?.[`${side}CpuMicros`]),
        }),
      ),
    );
  });
  return `Microseconds a commit of 1 and of 20 messages:\n\n${table<Figures>([first, ...columns], backends)}`;
}

function loadTable(backends: readonly Figures[]): string {
  const rows = backends.flatMap(({ versions, load }) =>
    load.filter(({ connections }) => connections > 1).map((row) => ({ server: serverOf(versions), ...row })),
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
        text: ({ connections, threads }) => `${connections} on ${threads === "one" ? "one" : connections}`,
      },
      { title: "raw, commits/s", align: "right", text: (row) => perSecond(row, "raw") },
      { title: "Scrollback", align: "right", text: (row) => perSecond(row, "Scrollback") },
      {
        title: "× raw",
        align: "right",
        text: ({ results }) => ratioText(results.Scrollback?.perSecond, results.raw?.perSecond),
      },
      { title: "ms: median, 99 %, longest", align: "right", text: waits },
      { title: "failed", align: "right", text: ({ results }) => String(results.Scrollback?.failures ?? "-") },
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
      first,
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
  return table<Figures>([first, ...columns], backends);
}

function tracingTable(backends: readonly Figures[]): string {
  const modes: readonly [TracingMode, string][] = [
    ["off", "off"],
    ["api", "API alone"],
    ["sdk", "SDK"],
  ];
  const columns = modes.flatMap(([mode, title]): Column<Figures>[] => [
    { title: `${title}, ms`, align: "right", text: ({ tracing }) => timingText(tracing[mode]) },
    { title: "client µs", align: "right", text: ({ tracing }) => tracing[mode].clientCpuMicros.toFixed(0) },
  ]);
  return table<Figures>([first, ...columns], backends);
}

/** How long the calls of other libraries take, by backend. */
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
