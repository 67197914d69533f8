/**
 * `npm run pages` writes the generated parts of the pages: the suite's test titles to PROTOCOL.md, each below its
 * clause; the matrix to docs/reference/matrix.md; frameworks by backends to docs/reference/frameworks.md; the matrix of other
 * servers, clients and versions of Node.js to docs/reference/compatibility.md; the results of the fault tests to
 * docs/explanation/faults.md; the fields of a head to docs/explanation/record-log.md. With `--check` it writes nothing, and
 * fails if a page is out of date.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeHead } from "../packages/record-log/src/format.ts";
import { frameworkTable } from "./framework-results.ts";

const root = join(import.meta.dirname, "..");
const textOf = (page: string) => readFileSync(join(root, page), "utf8");

function testsOf(clause: string): string {
  const number = clause.slice(1).padStart(2, "0");
  const files = globSync(`conformance-tests/src/clauses/c${number}-*.ts`, { cwd: root }).sort(
    (a, b) => a.length - b.length || (a < b ? -1 : 1),
  );
  const titles = files.flatMap((file) => titlesIn(textOf(file)));
  if (titles.length === 0) throw new Error(`no tests found of ${clause}`);
  const links = files.map((file) => `[${file.split("/").at(-1)}](${file})`).join(", ");
  return `Tests, in ${links}:\n\n${titles.map((title) => `- ${title}`).join("\n")}`;
}

function titlesIn(code: string): string[] {
  const tests = /^ {2,6}test\(\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|`([^`]*)`)/gm;
  return [...code.matchAll(tests)].map((match) =>
    (match[1] ?? match[2] ?? match[3] ?? "").replaceAll(/\\(.)/g, "$1").replaceAll(/\$\{[^}]*\}/g, "…"),
  );
}

function headFields(): string {
  const header = "| Key | Field | Type | Required | Meaning |\n| --- | --- | --- | --- | --- |";
  const rows = describeHead().map(
    ({ key, name, type, required, doc }) =>
      `| \`${key}\` | \`${name}\` | ${type} | ${required ? "always" : ""} | ${doc} |`,
  );
  return [header, ...rows].join("\n");
}

/** Inserts a text between `<!-- name -->` and `<!-- end of name -->`. */
function insert(page: string, name: string, text: string): string {
  const marked = new RegExp(`<!-- ${name} -->.*<!-- end of ${name} -->`, "s");
  if (!marked.test(page)) throw new Error(`a page has no place for ${name}`);
  return page.replace(marked, () => `<!-- ${name} -->\n\n${text}\n\n<!-- end of ${name} -->`);
}

/** Inserts the text of a file in the same way. */
const include = (page: string, name: string, file: string) => insert(page, name, textOf(file).trim());

const pages: Record<string, (text: string) => string> = {
  "PROTOCOL.md": (text) =>
    text.replace(
      /<!-- tests (C\d+) -->.*?(?=\s*(?:\n### |$(?!.)))/gs,
      (_, clause: string) => `<!-- tests ${clause} -->\n\n${testsOf(clause)}`,
    ),
  "docs/reference/matrix.md": (text) => include(text, "matrix", "docs/generated/matrix.md"),
  "docs/reference/frameworks.md": (text) =>
    insert(text, "frameworks", frameworkTable(JSON.parse(textOf("docs/generated/frameworks.json")))),
  "docs/explanation/faults.md": (text) => include(text, "faults", "docs/generated/faults-measured.md"),
  "docs/explanation/record-log.md": (text) => insert(text, "head", headFields()),
  "docs/reference/compatibility.md": (text) =>
    ["servers", "node-22.13", "node-22"].reduce(
      (page, name) => include(page, name, `docs/generated/matrix-${name}.md`),
      text,
    ),
};

for (const [page, generate] of Object.entries(pages)) {
  const before = textOf(page);
  const after = generate(before);
  if (after === before) continue;
  if (process.argv.includes("--check")) {
    console.error(`${page} is out of date; run: npm run pages`);
    process.exitCode = 1;
  } else writeFileSync(join(root, page), after);
}
