import { type Column, inDigits, table } from "../src/pages/table.ts";
import {
  type Costs,
  countOperations,
  type Figures,
  lengthOperations,
  type OperationName,
} from "./figures.ts";
import { TURN } from "./fill.ts";
import { fitLine, type Point } from "./fit.ts";
import { FIRST_SAMPLE, growthOf } from "./paging.ts";
import { mebibytes, slopeText } from "./picture.ts";
import { NEWEST, SAMPLED } from "./run.ts";

const number = (value: number) => value.toLocaleString("en");

/** The page, generated from the figures. */
export function page(all: readonly Figures[]): string {
  const largest = number(Math.max(...all.map((figures) => figures.largest)));
  const copied = all.filter(({ areCopies }) => areCopies).map(({ title }) => title);
  return `# Scale

The costs of ${largest} messages in one thread, and of ${largest} threads. \`npm run scale\` measures them and writes this page.

## Results

A slope is that of log(time) over log(size), a least-squares fit of the medians: 0 means constant, 1 proportional, and +0.05
means 1.6 times the cost at 10,000 times the size. Growth is that of the process from page ${FIRST_SAMPLE} to the last one.

${summary(all)}

- **append**: one message at the end of a thread without \`maxMessages\`. **append, trimming**: the same with \`maxMessages\` at the
  thread's length, so that each append trims. **newest ${NEWEST}**: \`listMessages({ limit: ${NEWEST} })\`. **opening**: the same by a new
  driver, including connecting (for SQLite, opening the file).
- **By length**: one thread of each length. A thread of 10 returns only 10 messages, so its reads are the cheapest.
- **By count**: as many threads of ${TURN} messages; ${SAMPLED} of them are measured.
- **Growth**: a process reads the longest thread from its end by the cursor \`older\`, and compares every message. Memory is sampled after a
  garbage collection; resident memory includes what the engine has not returned.
- All sizes of an operation are measured interleaved, operations one after the other: compare sizes, not operations. On a busy machine
  calls take several times what [costs.md](costs.md) shows, most of all appends on SQLite.
- Threads are filled by commits of 100 messages, the last 60 messages by single commits. So 100,000 messages are 1,060 commits. For a
  record log (MongoDB, DynamoDB) that trims the number of commits matters; [costs.md](costs.md#long-threads) has it at 100,000.${
    copied.length === 0
      ? ""
      : ` For the counts, ${new Intl.ListFormat("en").format(copied)} were
  filled with copies of one thread's rows.`
  }

## Times

Milliseconds per call: the median, and the 95th percentile in parentheses. [figures.jsonl](scale/figures.jsonl) has all sizes.

${timeTable(all)}

${all.map(section).join("\n\n")}
`;
}

function summary(all: readonly Figures[]): string {
  const slopes = (key: "byLength" | "byCount", operations: readonly OperationName[], by: string) =>
    operations.map(
      (name): Column<Figures> => ({
        title: `${name} by ${by}`,
        align: "right",
        text: (figures) => slopeText(fitLine(pointsOf(figures[key], name)).slope),
      }),
    );
  const columns: Column<Figures>[] = [
    { title: "", align: "left", text: ({ title }) => title },
    ...slopes("byLength", lengthOperations, "length"),
    ...slopes("byCount", countOperations, "count"),
    {
      title: "heap growth",
      align: "right",
      text: ({ paging }) => `${mebibytes(growthOf(paging).heapBytes)} MiB`,
    },
    {
      title: "RSS growth",
      align: "right",
      text: ({ paging }) => `${mebibytes(growthOf(paging).rssBytes)} MiB`,
    },
  ];
  return table(columns, all);
}

/** The smallest and the largest size of each operation, on each backend. */
function timeTable(all: readonly Figures[]): string {
  const rows = all.flatMap(({ title, byLength, byCount }) =>
    (
      [
        ["messages in the thread", byLength],
        ["threads", byCount],
      ] as const
    ).flatMap(([of, costs]) => {
      const sizes = sizesOf(costs);
      return [sizes[0], sizes.at(-1)]
        .filter((size) => size !== undefined)
        .map((size) => ({ title, label: `${number(size)} ${of}`, costs, size }));
    }),
  );
  type Row = (typeof rows)[number];
  return table<Row>(
    [
      { title: "", align: "left", text: ({ title }) => title },
      { title: "at", align: "left", text: ({ label }) => label },
      ...lengthOperations.map(
        (name): Column<Row> => ({
          title: name,
          align: "right",
          text: ({ costs, size }) => sizeText(pointsOf(costs, name), size),
        }),
      ),
    ],
    rows,
  );
}

function section({ title, name, versions, machine }: Figures): string {
  const load = machine.load.map((value) => value.toFixed(1)).join(" before and ");
  return `## ${title}

${versions.join("; ")}. Node ${machine.node}, ${machine.cores} cores shared with other work (load average ${load} after).

![Cost by length and by count of threads, and memory while paging, on ${title}](scale/${name}.svg)`;
}

function pointsOf(costs: Costs, name: OperationName): readonly Point[] {
  return costs.find(({ operation }) => operation === name)?.points ?? [];
}

function sizesOf(costs: Costs): number[] {
  return (costs[0]?.points ?? []).map(({ size }) => size);
}

function sizeText(points: readonly Point[], size: number): string {
  const point = points.find((one) => one.size === size);
  return point ? `${inDigits(point.medianMs, 3)} (${inDigits(point.percentile95Ms, 3)})` : "-";
}
