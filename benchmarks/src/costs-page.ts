import { type ContestantName, peerNames } from "./backend.ts";
import type { Figures, LoadRow, Results } from "./figures.ts";
import { machineText } from "./machine.ts";
import { meanMessageBytes } from "./messages.ts";
import { lengthsText, peerText, quietText, serverColumn, serverOf, summaryTable } from "./summary.ts";
import { type Column, inDigits, ratioText, table, timingText } from "./table.ts";
import { singleWriterRow } from "./targets.ts";

/** The pictures of the page, with their text alternatives. */
export const pictures = {
  commits: "Commits and reads as a multiple of the time of the raw client, by backend",
  throughput:
    "Commits per second as a share of those of the raw client, by backend and number of connections",
  length: "Milliseconds of an append of one message by the length of the thread, by backend",
  cpu: "Processor time of a commit of one message in the client and in the server, raw and Scrollback, by backend",
} as const;

const picture = (name: keyof typeof pictures) => `![${pictures[name]}](costs/${name}.svg)`;

/** docs/reference/costs.md, generated from the measurements. */
export function costsPage(results: Results): string {
  const { backends } = results;
  return `# What a commit costs

The cost of a commit and a read compared with the raw client of each backend. \`npm run bench\` writes this page.
[benchmarks/results.md](../../benchmarks/results.md) has every figure,
[benchmarks/README.md](../../benchmarks/README.md) the method, and [scale.md](scale.md) the costs of 100,000 threads.

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

## What a commit does

**In the client**, the store checks the arguments, checks that each message is plain JSON, encodes it, and
creates an operation id. A digest of the change is computed only if the caller passed the operation id.

**Redis.** One \`EVALSHA\` in one round trip, for any batch size. Raw is
\`RPUSH\` and \`LTRIM\` in a pipeline. The difference is the script call, three more commands, and Lua's hash of every byte of each argument.

**MongoDB, DynamoDB.** One conditional insert of a row with the messages and a head of about 280 bytes. A trimmed thread sends one more request at
every 32nd commit (on DynamoDB one for each 25 rows), and now and then reads heads. So a few commits in a hundred take several
times as long: they show in the 95th and 99th percentiles, not in the median. Raw inserts a row of the same size. See [record-log.md](../explanation/record-log.md#costs).

**PostgreSQL.** One call of a function, in one round trip. Raw is one prepared statement that updates the thread's row and inserts the messages.

**SQLite.** One transaction. With \`FULL\` the flush to disk takes most of the time. \`NORMAL\` does not flush. \`secure_delete\` is on, so trimmed text is overwritten.

## Processor time

One connection commits sequentially to threads of at most 1,000 messages. The client is the committing process, the server its whole
container. The time includes the backend's driver and the event loop.

${cpuTable(backends)}

${picture("cpu")}

## Many connections

All writers belong to one process and append messages one by one without a pause. Raw and Scrollback alternate, half a second
each; a commit that is under way at the end is completed and counted. "8 on one" means 8 factories, each with a separate client, that write to one thread.${ofOneFactoryText(backends)}

${loadTable(backends)}

${picture("throughput")}

On Redis, PostgreSQL and SQLite the server or the file orders the writers of a thread. On MongoDB and DynamoDB, which are record logs, 8 factories make fewer commits on one thread than one factory alone
([why](../explanation/record-log.md#writers-that-compete)), and some wait long: route a busy thread to one factory, whose concurrent appends
[share rows](../explanation/record-log.md#commits-that-share-a-row). The raw client assigns a separate number to each writer, so its writers do not compete.

## Long threads

${picture("length")}

The thread has \`maxMessages\` messages, so each append trims. On MongoDB and DynamoDB each message was committed separately: a
thread of 100,000 messages has 100,000 commits.

${growthTable(backends)}

## The first commit

The time to connect and to commit one message, in milliseconds (95th percentile in parentheses). A record log first reads the end of the
thread: 1 read and 2 inserts for a new thread, up to 2 reads and 1 insert for an existing one. Keep factories open, and use one for all threads.

${coldTable(backends)}

## Other libraries

Times of calls of other libraries as a multiple of Scrollback's: below 1 they are faster. They have fewer guarantees: LangChain.js has no
batches on Redis, MongoDB and PostgreSQL, reads a whole history for its newest messages, and does not trim. Mastra's memory is measured
without semantic recall, on threads of up to 1,000 messages.

${peerTable(backends)}

## Targets

[benchmarks/results.md](../../benchmarks/results.md#targets) has the project's targets, the worst figure of the run for each, and what bounds them.
`;
}

function cpuTable(backends: readonly Figures[]): string {
  const micros = (value: number | undefined) => (value === undefined ? "-" : value.toFixed(0));
  const columns = [1, 20].flatMap((batch) => {
    const of = ({ load }: Figures) => singleWriterRow(load, batch)?.results;
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
  return `Microseconds per commit of 1 and of 20 messages:\n\n${table<Figures>([serverColumn, ...columns], backends)}`;
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
