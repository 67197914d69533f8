import Table from "cli-table3";

/** A column of a table: its heading, its width in characters (not needed for the last one), and its alignment. */
export interface Column {
  readonly heading: string;
  readonly width?: number;
  readonly align?: "left" | "right";
}

/** No lines between cells, so that a row can be cut by columns. */
const chars = {
  top: "",
  "top-mid": "",
  "top-left": "",
  "top-right": "",
  bottom: "",
  "bottom-mid": "",
  "bottom-left": "",
  "bottom-right": "",
  left: "",
  "left-mid": "",
  mid: "",
  "mid-mid": "",
  right: "",
  "right-mid": "",
  middle: " ",
};

/** Formats rows as text. Widths are fixed, so that later rows align with earlier ones. */
export function formatRows(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  const table = new Table({
    chars,
    colWidths: columns.map(({ width }) => width ?? null),
    colAligns: columns.map(({ align }) => align ?? "left"),
    style: { "padding-left": 0, "padding-right": 1, head: [], border: [], compact: true },
  });
  table.push(...rows.map((row) => [...row]));
  return rows.length === 0
    ? []
    : table
        .toString()
        .split("\n")
        .map((line) => line.trimEnd());
}

/** Formats the headings for the rows of {@link formatRows}. */
export function formatHeadings(columns: readonly Column[]): string {
  return formatRows(columns, [columns.map(({ heading }) => heading)]).join("\n");
}
