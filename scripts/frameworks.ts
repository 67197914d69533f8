/**
 * Writes the results of the bridges' tests to docs/generated/frameworks.json: `node scripts/frameworks.ts <reports of Vitest>`.
 * Keeps the existing results of frameworks and backends that the reports do not contain.
 */
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { collectResults, type FrameworkResults, mergeResults } from "./framework-results.ts";

const root = join(import.meta.dirname, "..");
const file = join(root, "docs/generated/frameworks.json");

const reports = globSync(process.argv.slice(2), { cwd: root }).map((path) =>
  JSON.parse(readFileSync(join(root, path), "utf8")),
);
const last: FrameworkResults = existsSync(file)
  ? JSON.parse(readFileSync(file, "utf8"))
  : { rows: [], others: [] };
const found = collectResults(reports);
writeFileSync(file, `${JSON.stringify(mergeResults(last, found), undefined, 2)}\n`);
console.log(`frameworks: ${found.rows.length} suites on backends were counted`);
