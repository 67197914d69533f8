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

const MEBIBYTE = 1024 ** 2;
const number = (value: number) => value.toLocaleString("en");

/** The page, written from what was measured. */
export function page(all: readonly Figures[]): string {
  const largest = number(Math.max(...all.map((figures) => figures.largest)));
  const copied = all.filter(({ areCopies }) => areCopies).map(({ title }) => title);
  return `# Scale

What ${largest} messages in one thread cost, and ${largest} threads. \`npm run scale\` measures it and writes this page; it is no part of
the tests, which run it with a hundredth of the sizes.

## What came out

A slope is that of log(time) over log(size), fitted by least squares through the medians: 0 is flat, 1 grows in proportion, and
+0.05 is 1.6 times the cost at 10,000 times the size. Growth is that of the process from page ${FIRST_SAMPLE} to the last one.

${summary(all)}

## What was measured

- **append**: one message at the end of a thread without \`maxMessages\`. **append, trimming**: the same with \`maxMessages\` at the
  thread's length, so that each append trims. **newest ${NEWEST}**: \`listMessages({ limit: ${NEWEST} })\`. **opening**: the same by a driver that
  is made for it, so with connecting (for SQLite, opening the file) and all that a first call has to learn.
- **By length**: one thread of each length, side by side in one place. A thread of 10 has only 10 messages to give, so its reads are the
  cheapest, and a second slope leaves it out. A thread that appends have doubled is replaced by a fresh one.
- **By count**: a place for each count (a file, a database number, a collection, a table), with so many threads of ${TURN} messages in one
  commit. ${SAMPLED} of them are measured, spread over all.
- **Paging**: a process of its own reads the longest thread from its end to its beginning by the cursor \`older\`, and compares every message
  with what was written. Heap and resident memory are sampled after a garbage collection; between samples garbage is left to the engine,
  so resident memory includes the room that it takes for that.
- All sizes of an operation are measured interleaved in one run, in random order, so that whatever else the machine does hits all alike.
  Operations and tables follow each other, so compare sizes, not operations, and trust ratios more than milliseconds. Messages have ${Math.round(meanMessageBytes())} bytes of JSON on average.
- Threads are filled by commits of 100 messages, the last 60 by single ones, as a conversation adds to them. So 100,000 messages are
  1,060 commits here; for a record log (MongoDB, DynamoDB, PostgreSQL) that trims, commits count.${
    copied.length === 0
      ? ""
      : ` For the counts, ${new Intl.ListFormat("en").format(copied)} got
  copies of one thread's row under the other keys, many in a request: single commits would take too long. They lie as a commit leaves
  them, and those that are measured were read and compared.`
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

Milliseconds a call: the median, and the 95th percentile in parentheses.

${costTable(
  "messages in the thread",
  byLength,
  sizesOf(byLength).find((size) => size >= NEWEST),
)}

${costTable("threads", byCount)}

${memoryText(paging)}`;
}

/** @param fullFrom from which size on a read has as many messages to give as it asks for, where smaller ones have not. */
function costTable(of: string, costs: Costs, fullFrom?: number): string {
  const rows: Row[] = sizesOf(costs).map((size) => ({
    label: number(size),
    pick: (points) => sizeText(points, size),
  }));
  const slopeFrom = (least: number) => (points: readonly Point[]) =>
    slopeText(fitLine(points.filter(({ size }) => size >= least)).slope);
  rows.push({ label: "slope", pick: slopeFrom(0) });
  if (fullFrom !== undefined) rows.push({ label: `slope from ${fullFrom} on`, pick: slopeFrom(fullFrom) });
  rows.push({ label: "largest / smallest", pick: overSmallest });
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
  return `${table(columns, rows)}\n\n${callCounts(costs)}`;
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

function overSmallest(points: readonly Point[]): string {
  const [first, last] = [points[0], points.at(-1)];
  return first && last ? `×${inDigits(last.medianMs / first.medianMs, 2)}` : "-";
}

function callCounts(costs: Costs): string {
  const counts = costs.map(({ operation, points }) => {
    const calls = points.map((point) => point.calls);
    const [least, most] = [Math.min(...calls), Math.max(...calls)];
    return `${operation}: ${least === most ? number(least) : `${number(least)} to ${number(most)}`}`;
  });
  return `Measured calls for each size: ${counts.join("; ")}.`;
}

function memoryText(paging: Figures["paging"]): string {
  const { messages, pageSize, pages, samples, firstTenthMs, lastTenthMs } = paging;
  const growth = growthOf(paging);
  const shown = [samples[0], samples[samples.length >> 1], samples.at(-1)].filter((one) => one !== undefined);
  const rows = shown.map(({ page, heapBytes, rssBytes }) => ({
    label: number(page),
    heap: (heapBytes / MEBIBYTE).toFixed(1),
    resident: (rssBytes / MEBIBYTE).toFixed(1),
  }));
  rows.push({
    label: "growth",
    heap: mebibytes(growth.heapBytes),
    resident: mebibytes(growth.rssBytes),
  });
  const columns: Column<(typeof rows)[number]>[] = [
    { title: "page", align: "right", text: ({ label }) => label },
    { title: "heap, MiB", align: "right", text: ({ heap }) => heap },
    { title: "resident, MiB", align: "right", text: ({ resident }) => resident },
  ];
  return `Memory while paging through ${number(messages)} messages, ${number(pages)} pages of ${pageSize}:

${table(columns, rows)}

A page took ${inDigits(firstTenthMs, 3)} ms in the newest tenth of the thread, ${inDigits(lastTenthMs, 3)} ms in the oldest (medians).`;
}
