import type { Timing } from "../figures.ts";

export interface Column<Item> {
  readonly title: string;
  readonly align: "left" | "right";
  text(item: Item): string;
}

/** A Markdown table with an aligned source. */
export function table<Item>(columns: readonly Column<Item>[], items: readonly Item[]): string {
  const laidOut = columns.map(({ title, align, text }) => {
    const cells = [title, ...items.map(text)];
    const width = Math.max(3, ...cells.map((cell) => cell.length));
    const pad = (cell: string) => (align === "left" ? cell.padEnd(width) : cell.padStart(width));
    const rule = align === "left" ? "-".repeat(width) : `${"-".repeat(width - 1)}:`;
    return { cells: cells.map(pad), rule };
  });
  const lines = [...items.keys(), items.length].map(
    (line) => `| ${laidOut.map(({ cells }) => cells[line]).join(" | ")} |`,
  );
  lines.splice(1, 0, `| ${laidOut.map(({ rule }) => rule).join(" | ")} |`);
  return lines.join("\n");
}

/** A number with three significant digits, but below 1 with `decimals` decimals. */
export function inDigits(value: number, decimals: number): string {
  return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : decimals);
}

/** The median, and the 95th percentile in parentheses, in milliseconds. */
export function timingText(timing: Timing | undefined): string {
  if (!timing) return "-";
  return `${inDigits(timing.medianMs, 3)} (${inDigits(timing.percentile95Ms, 3)})`;
}

/** A ratio, or a dash if one of the two is missing. */
export function ratioText(value: number | undefined, base: number | undefined): string {
  return value === undefined || base === undefined ? "-" : inDigits(value / base, 2);
}
