import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { BackendKey } from "./backend.ts";
import { chatFigures } from "./chats/page.ts";
import { costsPage, peerTable } from "./costs-page.ts";
import type { Results } from "./figures.ts";
import { frameworkFigures } from "./frameworks/page.ts";
import { machineText } from "./machine.ts";
import { codecTable, report } from "./report.ts";
import { figuresOf, quietText } from "./summary.ts";

/** Pages with the figures of backends between their marks. */
const backendPages: Readonly<Record<string, readonly BackendKey[]>> = {
  "docs/reference/store-redis.md": ["redis"],
  "docs/reference/store-mongo.md": ["mongodb"],
  "docs/reference/store-dynamo.md": ["dynamodb"],
  "docs/reference/store-postgres.md": ["postgres"],
  "docs/reference/store-sqlite.md": ["sqlite-full", "sqlite-normal"],
};

/** Every page that is generated from the results, by its path below the root: whole, or between its marks. */
export function pagesOf(root: string, results: Results): Map<string, string> {
  const textOf = (path: string) => readFileSync(join(root, path), "utf8");
  const pages = new Map([
    ["benchmarks/generated/results.md", report(results)],
    ["docs/generated/costs.md", costsPage(results)],
    [
      "docs/reference/comparison.md",
      insert(
        textOf("docs/reference/comparison.md"),
        `${peerTable(results.backends)}\n\n${quietText(results)}`,
      ),
    ],
    [
      "docs/reference/codecs.md",
      insert(
        textOf("docs/reference/codecs.md"),
        `${codecTable(results.codecs)}\n\nMeasured ${machineText(results.codecs.machine)}.`,
      ),
    ],
    ["docs/reference/chats.md", insert(textOf("docs/reference/chats.md"), chatFigures(results.chats))],
    [
      "docs/reference/frameworks.md",
      insert(textOf("docs/reference/frameworks.md"), frameworkFigures(results.frameworks)),
    ],
  ]);
  for (const [path, keys] of Object.entries(backendPages)) {
    const figures = results.backends.filter(({ key }) => keys.includes(key)).map(figuresOf);
    pages.set(path, insert(textOf(path), figures.join("\n\n")));
  }
  return pages;
}

/** Puts a text between the marks of a page. */
function insert(page: string, text: string): string {
  const marked = /<!-- figures -->.*<!-- end of figures -->/s;
  if (!marked.test(page)) throw new Error("a page has no marks for figures");
  return page.replace(marked, () => `<!-- figures -->\n\n${text}\n\n<!-- end of figures -->`);
}
