import type { EChartsOption } from "echarts";
import { drawSvg } from "../src/pages/svg.ts";
import type { Costs, Figures, OperationName } from "./figures.ts";
import { fitLine, timeAt } from "./fit.ts";
import { growthOf, type Paging } from "./paging.ts";

const MEBIBYTE = 1024 ** 2;

/** The outer size of a chart. */
const CHART = { width: 340, height: 400 };

type Series = Extract<EChartsOption["series"], readonly unknown[]>[number];

interface Chart {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly scale: "log" | "value";
  readonly series: readonly Series[];
  /** The names of the series in the legend. */
  readonly legend: readonly string[];
}

/** A backend's picture: the costs by length, the costs by count, and the memory while paging. */
export function picture(figures: Figures): string {
  const charts = [
    costChart("By the length of a thread", "messages in the thread", figures.byLength),
    costChart("By the count of threads", "threads", figures.byCount),
    memoryChart(figures.paging),
  ];
  const title = `${figures.title}: cost and memory by size. ${charts
    .map((chart) => `${chart.title}: ${chart.legend.join("; ")}.`)
    .join(" ")}`;
  const left = (index: number) => index * CHART.width;
  const axis = (name: string, type: Chart["scale"], gridIndex: number, nameGap: number) => ({
    type,
    name,
    gridIndex,
    nameGap,
    nameLocation: "middle" as const,
  });
  return drawSvg(
    title,
    { width: charts.length * CHART.width, height: CHART.height },
    {
      title: charts.map((chart, index) => ({
        text: chart.title,
        left: left(index) + 62,
        top: 8,
        textStyle: { fontSize: 13 },
      })),
      legend: charts.map((chart, index) => ({
        data: [...chart.legend],
        orient: "vertical" as const,
        itemWidth: 14,
        left: left(index) + 56,
        top: 304,
      })),
      grid: charts.map((_, index) => ({ left: left(index) + 66, top: 44, width: 252, height: 208 })),
      xAxis: charts.map(({ x, scale }, index) => axis(x, scale, index, 28)),
      yAxis: charts.map(({ y, scale }, index) => axis(y, scale, index, 44)),
      series: charts.flatMap(({ series }, index) =>
        series.map((one) => ({ ...one, xAxisIndex: index, yAxisIndex: index })),
      ),
    },
  );
}

/** An operation looks the same in each chart. */
const lookOf: Readonly<Record<OperationName, { readonly color: string; readonly symbol: string }>> = {
  append: { color: "#0058a3", symbol: "circle" },
  "newest 20": { color: "#b84300", symbol: "rect" },
  opening: { color: "#00734f", symbol: "triangle" },
  "append, trimming": { color: "#8a3a9e", symbol: "diamond" },
};

/** The median of each size, and the line fitted to them. */
function costChart(title: string, x: string, costs: Costs): Chart {
  const drawn = costs.map(({ operation, points }) => {
    const line = fitLine(points);
    const { color, symbol } = lookOf[operation];
    const name = `${operation}: slope ${slopeText(line.slope)}`;
    const series: Series[] = [
      {
        name,
        type: "scatter",
        symbol,
        symbolSize: 9,
        itemStyle: { color },
        data: points.map(({ size, medianMs }) => [size, medianMs]),
      },
      {
        type: "line",
        symbol: "none",
        lineStyle: { color, type: "dashed", width: 1.8 },
        data: points.map(({ size }) => [size, timeAt(line, size)]),
      },
    ];
    return { name, series };
  });
  return {
    title,
    x,
    y: "milliseconds, median",
    scale: "log",
    series: drawn.flatMap(({ series }) => series),
    legend: drawn.map(({ name }) => name),
  };
}

function memoryChart(paging: Paging): Chart {
  const growth = growthOf(paging);
  const course = (what: string, key: "rssBytes" | "heapBytes", color: string) => ({
    name: `${what}: ${mebibytes(growth[key])} MiB`,
    type: "line" as const,
    symbol: "none",
    itemStyle: { color },
    lineStyle: { color, width: 1.8 },
    data: paging.samples.map((sample) => [sample.page, sample[key] / MEBIBYTE]),
  });
  const series = [course("resident memory", "rssBytes", "#0058a3"), course("heap", "heapBytes", "#b84300")];
  return {
    title: "Paging through the longest thread",
    x: `pages of ${paging.pageSize} messages`,
    y: "MiB in use after gc",
    scale: "value",
    series,
    legend: series.map(({ name }) => name),
  };
}

/** With its sign, because only the sign distinguishes growth from shrinking. */
export function slopeText(slope: number): string {
  return signed(slope, 3);
}

/** A growth in bytes, as MiB. */
export function mebibytes(bytes: number): string {
  return signed(bytes / MEBIBYTE, 1);
}

function signed(value: number, decimals: number): string {
  const text = Math.abs(value).toFixed(decimals);
  return `${Number(text) === 0 ? "" : value < 0 ? "−" : "+"}${text}`;
}
