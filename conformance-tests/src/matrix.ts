import type { ServerInfo } from "./harness.ts";

/** How one test of the suite ended on one backend. */
export interface ClauseResult {
  readonly clause: string;
  readonly title: string;
  readonly backend: string;
  /** Absent where the harness could not be made. */
  readonly server?: ServerInfo;
  readonly outcome: "passed" | "failed" | { readonly leftOut: string };
}

/** How a backend stood one fault. */
export interface FaultResult {
  readonly title: string;
  readonly backend: string;
  readonly server?: ServerInfo;
  /** The figure, where it stood the fault. */
  readonly outcome: { readonly figure: string } | "failed" | { readonly leftOut: string };
}

/** Clauses by backends, as text: what {@link formatMatrix} and {@link toMarkdown} write. */
interface Matrix {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly notes: readonly string[];
}

const superscript = (number: number) => [...`${number}`].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]).join("");

/** `C2` before `C10`, and what is no clause last. */
const byClause = (one: string, other: string) => numberOf(one) - numberOf(other) || one.localeCompare(other);
const numberOf = (clause: string) => Number(/^C(\d+)$/.exec(clause)?.[1] ?? Number.MAX_SAFE_INTEGER);

function matrixOf(results: readonly ClauseResult[]): Matrix {
  const titles = new Map(results.map(({ clause, title }) => [clause, title]));
  const backends = [...new Set(results.map(({ backend }) => backend))].sort();
  const reasons: string[] = [];
  const cell = (clause: string, backend: string) => {
    const own = results.filter((result) => result.clause === clause && result.backend === backend);
    const passed = own.filter(({ outcome }) => outcome === "passed").length;
    const failed = own.filter(({ outcome }) => outcome === "failed").length;
    const notes = new Set<number>();
    for (const { outcome } of own) {
      if (typeof outcome === "string") continue;
      if (!reasons.includes(outcome.leftOut)) reasons.push(outcome.leftOut);
      notes.add(reasons.indexOf(outcome.leftOut) + 1);
    }
    const verdict = failed > 0 ? `✗ ${failed} of ${failed + passed}` : passed > 0 ? `✓ ${passed}` : "–";
    const marks = [...notes].sort((one, other) => one - other).map(superscript);
    return marks.length > 0 ? `${verdict} ${marks.join(" ")}` : verdict;
  };
  const rows = [...titles.keys()]
    .sort(byClause)
    .map((clause) => [
      `${clause} ${titles.get(clause)}`,
      ...backends.map((backend) => cell(clause, backend)),
    ]);
  const serverOf = (backend: string) => results.find((one) => one.backend === backend && one.server)?.server;
  const header = backends.map((backend) => {
    const server = serverOf(backend);
    return server ? `${backend} (${server.product} ${server.version})` : backend;
  });
  const notes = reasons.map((reason, index) => `${superscript(index + 1)} Some tests left out: ${reason}.`);
  return { header: ["Clause", ...header], rows, notes };
}

/** The faults by backends, as a Markdown list: a heading a fault, a line a backend. */
export function formatFaults(results: readonly FaultResult[]): string {
  const lineOf = ({ backend, server, outcome }: FaultResult) => {
    const where = server ? `${backend} (${server.product} ${server.version})` : backend;
    if (outcome === "failed") return `- ✗ ${where}`;
    return "figure" in outcome ? `- ✓ ${where}: ${outcome.figure}` : `- – ${where}: ${outcome.leftOut}`;
  };
  const titles = [...new Set(results.map(({ title }) => title))];
  const own = (title: string) =>
    results
      .filter((result) => result.title === title)
      .sort((one, other) => one.backend.localeCompare(other.backend));
  return titles.map((title) => `**${title}**\n\n${own(title).map(lineOf).join("\n")}`).join("\n\n");
}

/** The matrix for a terminal, in columns. */
export function formatMatrix(results: readonly ClauseResult[]): string {
  const { header, rows, notes } = matrixOf(results);
  const lines = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const format = (line: readonly string[]) =>
    line
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  return [...lines.map(format), ...(notes.length > 0 ? ["", ...notes] : [])].join("\n");
}

/** The matrix as a Markdown table with its notes. */
export function toMarkdown(results: readonly ClauseResult[]): string {
  const { header, rows, notes } = matrixOf(results);
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  const table = [line(header), line(header.map(() => "---")), ...rows.map(line)];
  const legend = "✓ tests passed, ✗ tests failed, – nothing to test.";
  return [...table, "", legend, ...notes.map((note) => `<br>${note}`), ""].join("\n");
}
