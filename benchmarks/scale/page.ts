import { meanMessageBytes } from "../src/messages.ts";
import { type Column, inDigits, table } from "../src/table.ts";
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

## Measured operations

- **append**: one message at the end of a thread without \`maxMessages\`. **append, trimming**: the same with \`maxMessages\` at the
  thread's length, so that each append trims. **newest ${NEWEST}**: \`listMessages({ limit: ${NEWEST} })\`. **opening**: the same by a new
  driver, including connecting (for SQLite, opening the file) and the reads of a first call.
- **By length**: one thread of each length. A thread of 10 returns only 10 messages, so the tables also have the smallest that returns 20. **By count**: a
  separate file, database number, collection or table for each count, with that many threads of ${TURN} messages, of which ${SAMPLED} are measured.
- **Paging**: a separate process reads the longest thread from its end to its beginning by the cursor \`older\`. Heap and resident memory are sampled after a garbage collection.
- All sizes of an operation are measured interleaved in one run, operations and tables one after the other. So compare sizes, not operations; ratios are more reliable than milliseconds.
  On a busy machine (see the load averages) calls take several times what [costs.md](costs.md) shows,
  most of all appends on SQLite, which wait for a flush of the disk: about ten times.
  Messages have ${Math.round(meanMessageBytes())} bytes of JSON on average.
- Threads are filled by commits of 100 messages, the last 60 messages by single commits. So 100,000 messages are
  1,060 commits here. For a trimming record log the number of commits matters, not that of messages.${
    copied.length === 0
      ? ""
      : ` For the counts, ${new Intl.ListFormat("en").format(copied)} were
  filled with copies of one thread's row under the other keys; the measured ones were read and compared.`
  }

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

function section(figures: Figures): string {
  const { title, name, versions, machine, paging, byLength, byCount } = figures;
  const load = machine.load.map((value) => value.toFixed(1)).join(" before and ");
  return `## ${title}

${versions.map((line) => `- ${line}`).join("\n")}
- Node ${machine.node}, ${machine.cores} cores shared with other work (load average ${load} after)

![Cost by length and by count of threads, and memory while paging, on ${title}](scale/${name}.svg)

Milliseconds per call: the median, and the 95th percentile in parentheses. The picture has the sizes between.

${costTable(
  "messages in the thread",
  byLength,
  sizesOf(byLength).find((size) => size >= NEWEST),
)}

${costTable("threads", byCount)}

${pagingText(paging)}`;
}

/** The smallest and the largest size, and `fullFrom`, the smallest at which a read returns as many messages as requested. */
function costTable(of: string, costs: Costs, fullFrom?: number): string {
  const sizes = sizesOf(costs);
  const shown = sizes.filter((size, index) => index === 0 || index === sizes.length - 1 || size === fullFrom);
  const rows: Row[] = shown.map((size) => ({
    label: number(size),
    pick: (points) => sizeText(points, size),
  }));
  const columns: Column<Row>[] = [
    { title: of, align: "right", text: ({ label }) => label },
    ...costs.map(
      ({ operation, points }): Column<Row> => ({
        title: operation,
        align: "right",
        text: ({ pick }) => pick(points),
      }),
    ),
  ];
  return table(columns, rows);
}

function pointsOf(costs: Costs, name: OperationName): readonly Point[] {
  return costs.find(({ operation }) => operation === name)?.points ?? [];
}

function sizesOf(costs: Costs): number[] {
  return (costs[0]?.points ?? []).map(({ size }) => size);
}

interface Row {
  readonly label: string;
  pick(points: readonly Point[]): string;
}

function sizeText(points: readonly Point[], size: number): string {
  const point = points.find((one) => one.size === size);
  return point ? `${inDigits(point.medianMs, 3)} (${inDigits(point.percentile95Ms, 3)})` : "-";
}

function pagingText({ messages, pageSize, pages, firstTenthMs, lastTenthMs }: Figures["paging"]): string {
  return `Paging through ${number(messages)} messages, ${number(pages)} pages of ${pageSize}: a page took ${inDigits(firstTenthMs, 3)} ms in the newest tenth of the thread, ${inDigits(lastTenthMs, 3)} ms in the oldest (medians).`;
}
