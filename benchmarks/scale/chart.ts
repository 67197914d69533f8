import { type Axis, linearAxis, logAxis } from "./axis.ts";
import { element, group, type Svg } from "./svg.ts";

/** A value at a place. */
export interface Dot {
  readonly x: number;
  readonly y: number;
}

export interface Series {
  readonly name: string;
  /** What is said beside the name. */
  readonly note: string;
  readonly dots: readonly Dot[];
  /** What is drawn through or beside the dots. */
  readonly line: readonly Dot[];
  /** `"fit"`: each dot is shown, and the line is a dashed one. `"course"`: the line alone. */
  readonly kind: "fit" | "course";
  /** Which of the colours and shapes, 0 to 3. */
  readonly look: number;
}

export interface Chart {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly scale: "log" | "linear";
  readonly series: readonly Series[];
}

/** The outer size of a chart. */
export const CHART = { width: 340, height: 392 } as const;
/** Where the plot lies in it. */
const PLOT = { left: 66, top: 40, width: 252, height: 212 } as const;
const LEGEND_LINE = 20;

/** Readable on light and on dark pages: it brings its own paper. Colours that the colour-blind tell apart, and a shape for each. */
export const STYLE = `
text { font: 12px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: #1f2328; }
.paper { fill: #ffffff; }
.heading { font-size: 13px; font-weight: 600; }
.faint { fill: #59636e; }
.grid { stroke: #d8dee4; stroke-width: 1; }
.frame { stroke: #818b98; stroke-width: 1; fill: none; }
.line { fill: none; stroke-width: 1.8; }
.dashed { stroke-dasharray: 5 4; }
.fill-0 { fill: #0058a3; } .line-0 { stroke: #0058a3; }
.fill-1 { fill: #b84300; } .line-1 { stroke: #b84300; }
.fill-2 { fill: #00734f; } .line-2 { stroke: #00734f; }
.fill-3 { fill: #8a3a9e; } .line-3 { stroke: #8a3a9e; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .paper { fill: #0d1117; }
  .faint { fill: #9da7b3; }
  .grid { stroke: #30363d; }
  .frame { stroke: #7d8590; }
  .fill-0 { fill: #6cb6ff; } .line-0 { stroke: #6cb6ff; }
  .fill-1 { fill: #ffa657; } .line-1 { stroke: #ffa657; }
  .fill-2 { fill: #4fd6a0; } .line-2 { stroke: #4fd6a0; }
  .fill-3 { fill: #d9a1f0; } .line-3 { stroke: #d9a1f0; }
}
`;

/** Draws a chart with its upper left corner at a place. */
export function drawChart(chart: Chart, left: number, top: number): Svg {
  const dots = chart.series.flatMap(({ dots, line }) => [...dots, ...line]);
  const axisOf = chart.scale === "log" ? logAxis : linearAxis;
  const [x, y] = [axisOf(dots.map((dot) => dot.x)), axisOf(dots.map((dot) => dot.y))];
  const place = (dot: Dot) => ({
    x: PLOT.left + x.at(dot.x) * PLOT.width,
    y: PLOT.top + (1 - y.at(dot.y)) * PLOT.height,
  });
  return group({ transform: `translate(${left} ${top})` }, [
    element("text", { x: PLOT.left, y: 22, class: "heading" }, chart.title),
    ...acrossMarks(x),
    ...upMarks(y),
    element("rect", {
      x: PLOT.left,
      y: PLOT.top,
      width: PLOT.width,
      height: PLOT.height,
      class: "frame",
    }),
    ...labels(chart),
    ...chart.series.flatMap((series) => drawSeries(series, place)),
    ...chart.series.flatMap((series, index) => legend(series, index)),
  ]);
}

function acrossMarks({ at, marks }: Axis): Svg[] {
  return marks.flatMap((mark) => {
    const x = PLOT.left + at(mark) * PLOT.width;
    const bottom = PLOT.top + PLOT.height;
    return [
      element("line", { x1: x, x2: x, y1: PLOT.top, y2: bottom, class: "grid" }),
      element("text", { x, y: bottom + 16, "text-anchor": "middle", class: "faint" }, textOf(mark)),
    ];
  });
}

function upMarks({ at, marks }: Axis): Svg[] {
  return marks.flatMap((mark) => {
    const y = PLOT.top + (1 - at(mark)) * PLOT.height;
    return [
      element("line", { x1: PLOT.left, x2: PLOT.left + PLOT.width, y1: y, y2: y, class: "grid" }),
      element("text", { x: PLOT.left - 6, y: y + 4, "text-anchor": "end", class: "faint" }, textOf(mark)),
    ];
  });
}

function labels({ x, y }: Chart): Svg[] {
  const middle = PLOT.top + PLOT.height / 2;
  return [
    element(
      "text",
      { x: PLOT.left + PLOT.width / 2, y: PLOT.top + PLOT.height + 36, "text-anchor": "middle" },
      x,
    ),
    element("text", { x: 18, y: middle, "text-anchor": "middle", transform: `rotate(-90 18 ${middle})` }, y),
  ];
}

function drawSeries({ kind, dots, line, look }: Series, place: (dot: Dot) => Dot): Svg[] {
  const points = line.map(place).map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`);
  const dashed = kind === "fit" ? " dashed" : "";
  return [
    element("polyline", { points: points.join(" "), class: `line line-${look}${dashed}` }),
    ...(kind === "fit" ? dots.map((dot) => shape(place(dot), look)) : []),
  ];
}

function legend({ name, note, kind, look }: Series, index: number): Svg[] {
  const y = PLOT.top + PLOT.height + 58 + index * LEGEND_LINE;
  const mark = { x: PLOT.left + 8, y: y - 4 };
  const sample =
    kind === "fit"
      ? shape(mark, look)
      : element("line", {
          x1: mark.x - 8,
          x2: mark.x + 8,
          y1: mark.y,
          y2: mark.y,
          class: `line line-${look}`,
        });
  return [
    sample,
    element("text", { x: PLOT.left + 24, y }, name),
    element("text", { x: PLOT.left + PLOT.width, y, "text-anchor": "end", class: "faint" }, note),
  ];
}

/** A circle, a square, a triangle or a diamond. */
function shape({ x, y }: Dot, look: number): Svg {
  const filled = { class: `fill-${look}` };
  if (look === 0) return element("circle", { cx: x, cy: y, r: 4.5, ...filled });
  if (look === 1) return element("rect", { x: x - 4, y: y - 4, width: 8, height: 8, ...filled });
  const around = look === 2 ? "l5.5 9.5h-11z" : "l5.5 5.5l-5.5 5.5l-5.5 -5.5z";
  return element("path", { d: `M${x.toFixed(1)} ${(y - 5.5).toFixed(1)}${around}`, ...filled });
}

function textOf(value: number): string {
  return value.toLocaleString("en", { maximumSignificantDigits: 3 });
}
