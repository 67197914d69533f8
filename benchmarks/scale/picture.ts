import { CHART, type Chart, drawChart, type Series, STYLE } from "./chart.ts";
import type { Costs, Figures, OperationName } from "./figures.ts";
import { fitLine, timeAt } from "./fit.ts";
import { growthOf, type Paging } from "./paging.ts";
import { element, svgDocument } from "./svg.ts";

const MEBIBYTE = 1024 ** 2;

/** A backend's picture: the costs by length and by count, and memory while paging, side by side. */
export function picture(figures: Figures): string {
  const charts = [
    costChart("By the length of a thread", "messages in the thread", figures.byLength),
    costChart("By the count of threads", "threads", figures.byCount),
    memoryChart(figures.paging),
  ];
  const size = { width: charts.length * CHART.width, height: CHART.height };
  return svgDocument(
    size,
    {
      title: `${figures.title}: cost and memory by size`,
      description: charts
        .map(
          ({ title, series }) =>
            `${title}: ${series.map(({ name, note }) => `${name}, ${note}`).join("; ")}.`,
        )
        .join(" "),
      style: STYLE,
    },
    [
      element("rect", { x: 0, y: 0, ...size, class: "paper" }),
      ...charts.map((chart, index) => drawChart(chart, index * CHART.width, 0)),
    ],
  );
}

/** An operation looks the same in each chart. */
const lookOf: Readonly<Record<OperationName, number>> = {
  append: 0,
  "newest 20": 1,
  opening: 2,
  "append, trimming": 3,
};

function costChart(title: string, x: string, costs: Costs): Chart {
  const series = costs.map(({ operation, points }): Series => {
    const line = fitLine(points);
    return {
      name: operation,
      note: `slope ${slopeText(line.slope)}`,
      kind: "fit",
      dots: points.map(({ size, medianMs }) => ({ x: size, y: medianMs })),
      line: points.map(({ size }) => ({ x: size, y: timeAt(line, size) })),
      look: lookOf[operation],
    };
  });
  return { title, x, y: "milliseconds, median", scale: "log", series };
}

function memoryChart(paging: Paging): Chart {
  const growth = growthOf(paging);
  const course = (name: string, key: "rssBytes" | "heapBytes", look: number): Series => {
    const line = paging.samples.map((sample) => ({ x: sample.page, y: sample[key] / MEBIBYTE }));
    return { name, note: `${mebibytes(growth[key])} MiB`, kind: "course", dots: [], line, look };
  };
  return {
    title: "Paging through the longest thread",
    x: `pages of ${paging.pageSize} messages`,
    y: "MiB in use after gc",
    scale: "linear",
    series: [course("resident memory", "rssBytes", 0), course("heap", "heapBytes", 1)],
  };
}

/** With its sign, as growth and shrinking are told apart by it alone. */
export function slopeText(slope: number): string {
  return signed(slope, 3);
}

/** Bytes as a growth in MiB. */
export function mebibytes(bytes: number): string {
  return signed(bytes / MEBIBYTE, 1);
}

function signed(value: number, decimals: number): string {
  const text = Math.abs(value).toFixed(decimals);
  return `${Number(text) === 0 ? "" : value < 0 ? "−" : "+"}${text}`;
}
