/**
 * Writes what is generated into the pages: the suite's test titles into PROTOCOL.md, each below its clause, the matrix into
 * README.md, those of other servers, clients and versions of Node into docs/compatibility.md, and how the backends stood the faults
 * into docs/faults.md. `node scripts/pages.ts`; with `--check` it writes nothing and fails where a page is out of date.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const textOf = (page: string) => readFileSync(join(root, page), "utf8");

function testsOf(clause: string): string {
  const number = clause.slice(1).padStart(2, "0");
  const [file = ""] = globSync(`conformance-tests/src/clauses/c${number}-*.ts`, { cwd: root });
  const titles = [
    ...textOf(file).matchAll(/^ {4,6}test\(\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|`([^`]*)`)/gm),
  ].map((match) =>
    (match[1] ?? match[2] ?? match[3] ?? "").replaceAll(/\\(.)/g, "$1").replaceAll(/\$\{[^}]*\}/g, "…"),
  );
  if (titles.length === 0) throw new Error(`no tests found in ${file}`);
  return `Tests, in [${file.split("/").at(-1)}](${file}):\n\n${titles.map((title) => `- ${title}`).join("\n")}`;
}

/** Puts the text of a file between `<!-- name -->` and `<!-- end of name -->`. */
const include = (text: string, name: string, file: string) =>
  text.replace(
    new RegExp(`<!-- ${name} -->.*<!-- end of ${name} -->`, "s"),
    () => `<!-- ${name} -->\n\n${textOf(file).trim()}\n\n<!-- end of ${name} -->`,
  );

const pages: Record<string, (text: string) => string> = {
  "PROTOCOL.md": (text) =>
    text.replace(
      /<!-- tests (C\d+) -->.*?(?=\s*(?:\n### |$(?!.)))/gs,
      (_, clause: string) => `<!-- tests ${clause} -->\n\n${testsOf(clause)}`,
    ),
  "README.md": (text) => include(text, "matrix", "docs/matrix.md"),
  "docs/faults.md": (text) => include(text, "faults", "docs/faults-measured.md"),
  "docs/compatibility.md": (text) =>
    ["servers", "node-22.13", "node-22"].reduce(
      (page, name) => include(page, name, `docs/matrix-${name}.md`),
      text,
    ),
};

for (const [page, generate] of Object.entries(pages)) {
  const before = textOf(page);
  const after = generate(before);
  if (after === before) continue;
  if (process.argv.includes("--check")) {
    console.error(`${page} is out of date; run: node scripts/pages.ts`);
    process.exitCode = 1;
  } else writeFileSync(join(root, page), after);
}
