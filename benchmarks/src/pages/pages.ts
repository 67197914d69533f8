import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Results } from "../figures.ts";
import { costsPage, peerTable } from "./costs.ts";
import { report } from "./report.ts";
import { quietText } from "./summary.ts";

/** Every page that is generated from the results, by its path below the root: whole, or between its marks. */
export function pagesOf(root: string, results: Results): Map<string, string> {
  const comparison = "docs/reference/comparison.md";
  const peers = `${peerTable(results.backends)}\n\n${quietText(results)}`;
  return new Map([
    ["benchmarks/generated/results.md", report(results)],
    ["docs/generated/costs.md", costsPage(results)],
    [comparison, insert(readFileSync(join(root, comparison), "utf8"), peers)],
  ]);
}

/** Puts a text between the marks of a page. */
function insert(page: string, text: string): string {
  const marked = /<!-- figures -->.*<!-- end of figures -->/s;
  if (!marked.test(page)) throw new Error("a page has no marks for figures");
  return page.replace(marked, () => `<!-- figures -->\n\n${text}\n\n<!-- end of figures -->`);
}
