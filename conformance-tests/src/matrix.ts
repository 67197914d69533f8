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

const superscript = (number: number) => [...`${number}`].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]).join("");

/** `C2` before `C10`; titles without a clause last. */
const byClause = (one: string, other: string) => numberOf(one) - numberOf(other) || one.localeCompare(other);
const numberOf = (clause: string) => Number(/^C(\d+)$/.exec(clause)?.[1] ?? Number.MAX_SAFE_INTEGER);

/** Clauses by backends as a Markdown table with its notes. */
export function toMarkdown(results: readonly ClauseResult[]): string {
  const titles = new Map(results.map(({ clause, title }) => [clause, title]));
  const backends = backendsOf(results);
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
  const notes = reasons.map(
    (reason, index) => `<br>${superscript(index + 1)} Some tests left out: ${reason}.`,
  );
  const legend = "✓ tests passed, ✗ tests failed, – nothing to test.";
  return [...tableOf("Clause", results, rows), "", legend, ...notes, ""].join("\n");
}

/** Faults by backends as a Markdown table, with the figure of each passed fault. */
export function faultsToMarkdown(results: readonly FaultResult[]): string {
  const cell = (title: string, backend: string) => {
    const { outcome } = results.find((one) => one.title === title && one.backend === backend) ?? {};
    if (outcome === undefined) return "–";
    if (outcome === "failed") return "✗";
    return "figure" in outcome ? `✓ ${outcome.figure}` : `– ${outcome.leftOut}`;
  };
  const titles = [...new Set(results.map(({ title }) => title))];
  const backends = backendsOf(results);
  const rows = titles.map((title) => [title, ...backends.map((backend) => cell(title, backend))]);
  return [...tableOf("Fault", results, rows), ""].join("\n");
}

type Result = Pick<ClauseResult, "backend" | "server">;

const backendsOf = (results: readonly Result[]) => [...new Set(results.map(({ backend }) => backend))].sort();

function tableOf(first: string, results: readonly Result[], rows: readonly string[][]): string[] {
  const header = backendsOf(results).map((backend) => {
    const server = results.find((one) => one.backend === backend && one.server)?.server;
    return server ? `${backend} (${server.product} ${server.version})` : backend;
  });
  return [[first, ...header], ["---", ...header.map(() => "---")], ...rows].map(
    (cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`,
  );
}
