import type { ServerInfo } from "./harness.ts";

/** The outcome of one test of the suite on one backend. */
export interface ClauseResult {
  readonly clause: string;
  readonly title: string;
  /** The name of the test, e.g. `"C1 order survives clients whose clocks are wrong"`. */
  readonly test: string;
  readonly backend: string;
  /** Absent if the harness could not be created. */
  readonly server?: ServerInfo;
  readonly outcome: "passed" | "failed" | { readonly leftOut: string };
}

/** The outcome of one fault on one backend. */
export interface FaultResult {
  readonly title: string;
  readonly backend: string;
  readonly server?: ServerInfo;
  /** The figure, if the backend passed. */
  readonly outcome: { readonly figure: string } | "failed" | { readonly leftOut: string };
}

/** Clauses by backends, as text: the content of {@link formatMatrix} and {@link toMarkdown}. */
interface Matrix {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly notes: readonly string[];
}

const superscript = (number: number) => [...`${number}`].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]).join("");

/** `C2` before `C10`; titles without a clause last. */
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

function verdictOf({ outcome }: FaultResult): string {
  if (outcome === "failed") return "✗";
  return "figure" in outcome ? `✓ ${outcome.figure}` : `– ${outcome.leftOut}`;
}

/** Faults by backends as a Markdown table, with the figure of each passed fault. */
export function faultsToMarkdown(results: readonly FaultResult[]): string {
  const titles = [...new Set(results.map(({ title }) => title))];
  const backends = [...new Set(results.map(({ backend }) => backend))].sort();
  const cell = (title: string, backend: string) => {
    const found = results.find((one) => one.title === title && one.backend === backend);
    return found ? verdictOf(found) : "–";
  };
  const headerOf = (backend: string) => {
    const server = results.find((one) => one.backend === backend && one.server)?.server;
    return server ? `${backend} (${server.product} ${server.version})` : backend;
  };
  const header = ["Fault", ...backends.map(headerOf)];
  const rows = titles.map((title) => [title, ...backends.map((backend) => cell(title, backend))]);
  return [markdownLine(header), markdownLine(header.map(() => "---")), ...rows.map(markdownLine), ""].join(
    "\n",
  );
}

/** Faults by backends for a terminal: one line per backend below each fault. */
export function formatFaults(results: readonly FaultResult[]): string {
  const titles = [...new Set(results.map(({ title }) => title))];
  const width = Math.max(...results.map(({ backend }) => backend.length));
  return titles
    .map((title) => {
      const own = results.filter((result) => result.title === title);
      const lines = own.map((result) => `  ${result.backend.padEnd(width)}  ${verdictOf(result)}`).sort();
      return [title, ...lines].join("\n");
    })
    .join("\n");
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
  const table = [markdownLine(header), markdownLine(header.map(() => "---")), ...rows.map(markdownLine)];
  const legend = "✓ tests passed, ✗ tests failed, – nothing to test.";
  return [...table, "", legend, ...notes.map((note) => `<br>${note}`), ""].join("\n");
}

function markdownLine(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}
