import type { EChartsOption } from "echarts";
import type { CallRow, Figures, LoadRow } from "../figures.ts";
import { loadRows, singleWriterRow } from "../targets.ts";
import { pictures } from "./costs.ts";
import { drawSvg } from "./svg.ts";

const SIZE = { width: 860, height: 360 };

/** Draws a picture of the costs page. */
export const draw: Readonly<Record<keyof typeof pictures, (backends: readonly Figures[]) => string>> = {
  commits: drawRatios,
  throughput: drawThroughput,
  length: drawLength,
  cpu: drawCpu,
};

function drawRatios(backends: readonly Figures[]): string {
  const series = ["append 1", "append 20", "newest 20", "all"].map((operation) => ({
    name: operation,
    // At 1,000 messages, a length at which every operation is measured.
    values: backends.map(({ calls }) =>
      overRaw(calls.find((row) => row.operation === operation && row.length === 1_000)),
    ),
  }));
  return drawBars("commits", "times the raw client, threads of 1,000 messages", backends, series, 1);
}

function drawThroughput(backends: readonly Figures[]): string {
  const setups = [
    [8, "many", "many", "8 factories, 8 threads"],
    [8, "one", "one", "8 writers of one factory, one thread"],
    [8, "one", "many", "8 factories, one thread"],
    [64, "many", "many", "64 factories, 64 threads"],
    [64, "one", "one", "64 writers of one factory, one thread"],
    [64, "one", "many", "64 factories, one thread"],
  ] as const;
  const series = setups
    .map(([connections, threads, clients, name]) => ({
      name,
      values: backends.map(({ load }) => shareOfRaw(loadRows(load, connections, threads, clients)[0])),
    }))
    // Not measured on any backend.
    .filter(({ values }) => values.some((value) => value !== undefined));
  return drawBars("throughput", "commits per second, as a share of the raw client's", backends, series, 1);
}

function drawLength(backends: readonly Figures[]): string {
  return drawSvg(pictures.length, SIZE, {
    ...frame("milliseconds of an append of one message, median"),
    xAxis: { type: "log", name: "messages in the thread", nameLocation: "middle", nameGap: 28, min: 10 },
    yAxis: { type: "log" },
    series: backends.map(({ title, calls }) => ({
      name: title,
      type: "line" as const,
      data: calls
        .filter(({ operation }) => operation === "append 1")
        .map(({ length, results }) => [length, results.Scrollback?.medianMs ?? null]),
    })),
  });
}

function drawCpu(backends: readonly Figures[]): string {
  const alone = backends.map(({ load }) => singleWriterRow(load));
  const sides = [
    ["raw", "raw"],
    ["Scrollback", "Scrollback"],
  ] as const;
  return drawSvg(pictures.cpu, SIZE, {
    ...frame("microseconds of processor time, a commit of one message"),
    xAxis: { type: "category", data: backends.map(({ title }) => title), axisLabel: { interval: 0 } },
    yAxis: { type: "value" },
    series: sides.flatMap(([side, name]) =>
      (["clientCpuMicros", "serverCpuMicros"] as const).map((key) => ({
        name: `${name}, ${key === "clientCpuMicros" ? "client" : "server"}`,
        type: "bar" as const,
        stack: side,
        data: alone.map((row) => row?.results[side]?.[key] ?? null),
      })),
    ),
  });
}

interface Series {
  readonly name: string;
  readonly values: readonly (number | undefined)[];
}

/** Bars side by side for each backend, and a line at the raw client's value. */
function drawBars(
  picture: keyof typeof pictures,
  title: string,
  backends: readonly Figures[],
  series: readonly Series[],
  line: number,
): string {
  return drawSvg(pictures[picture], SIZE, {
    ...frame(title),
    xAxis: { type: "category", data: backends.map(({ title: name }) => name), axisLabel: { interval: 0 } },
    yAxis: { type: "value" },
    series: series.map(({ name, values }, index) => ({
      name,
      type: "bar" as const,
      data: values.map((value) => value ?? null),
      label: {
        show: true,
        position: "top" as const,
        fontSize: 9,
        formatter: ({ value }: { value: unknown }) => (typeof value === "number" ? value.toFixed(1) : ""),
      },
      ...(index === 0 && {
        markLine: {
          symbol: "none",
          data: [{ yAxis: line }],
          label: { formatter: "raw", position: "end" as const },
          lineStyle: { color: "#1f2328" },
        },
      }),
    })),
  });
}

/** The common options of all charts. */
function frame(title: string): EChartsOption {
  return {
    title: { text: title, left: 16, top: 8, textStyle: { fontSize: 14 } },
    legend: { top: 36, left: 12, itemGap: 28 },
    grid: { left: 60, right: 48, top: 84, bottom: 48 },
  };
}

function overRaw(row: CallRow | undefined): number | undefined {
  const { raw, Scrollback } = row?.results ?? {};
  return raw && Scrollback && Scrollback.medianMs / raw.medianMs;
}

function shareOfRaw(row: LoadRow | undefined): number | undefined {
  const { raw, Scrollback } = row?.results ?? {};
  return raw && Scrollback && Scrollback.perSecond / raw.perSecond;
}
