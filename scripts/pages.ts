/**
 * `npm run pages` writes docs/generated/tests.md (the matrix, the fault tests, frameworks by backends, and the titles of the
 * suite's tests by clause), and what passed on other servers,
 * clients, versions of Node.js and runtimes, and with which frameworks, into docs/reference/compatibility.md. With `--check` it writes nothing, and fails if a page is
 * out of date.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type FrameworkResults, frameworkTable } from "./framework-results.ts";

const root = join(import.meta.dirname, "..");
const textOf = (page: string) => readFileSync(join(root, page), "utf8");

/** All that passed in the last run, then the titles of the tests of each clause. */
function testsPage(): string {
  const clauses = [...textOf("PROTOCOL.md").matchAll(/^### (C\d+) (.*)$/gm)];
  return `# The suite's tests

How many tests of each clause of [the protocol](../../PROTOCOL.md) passed in the last run of \`npm run test:deep\`, and their titles.
[Compatibility](../reference/compatibility.md#what-ran-where) names the products behind the backends.

## Clauses by backend

${textOf("docs/generated/matrix.md").trim()}

## Faults by backend

[What is tested](../reference/compatibility.md#fault-tests), and [every figure](faults-measured.md). "Longest call" and "back in", the time from the end of the
fault until every writer had written again, are those of the slowest backend, on a machine with 2 cores and other work.

${faultsOf("docs/generated/faults-measured.md")}

## Frameworks by backend

[What is tested](../reference/compatibility.md#frameworks): the framework's own tests of stores (theirs), and ours.

${frameworkTable(JSON.parse(textOf("docs/generated/frameworks.json")))}

${clauses.map(([, id = "", name]) => `## ${id} ${name}\n\n${testsOf(id)}`).join("\n\n")}
`;
}

function testsOf(clause: string): string {
  const number = clause.slice(1).padStart(2, "0");
  const files = globSync(`conformance-tests/src/clauses/c${number}-*.ts`, { cwd: root }).sort(
    (a, b) => a.length - b.length || (a < b ? -1 : 1),
  );
  const titles = files.flatMap((file) => titlesIn(textOf(file)));
  if (titles.length === 0) throw new Error(`no tests found of ${clause}`);
  const links = files.map((file) => `[${file.split("/").at(-1)}](../../${file})`).join(", ");
  return `In ${links}:\n\n${titles.map((title) => `- ${title}`).join("\n")}`;
}

function titlesIn(code: string): string[] {
  const tests = /^ {2,6}test\(\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|`([^`]*)`)/gm;
  return [...code.matchAll(tests)].map((match) =>
    (match[1] ?? match[2] ?? match[3] ?? "").replaceAll(/\\(.)/g, "$1").replaceAll(/\$\{[^}]*\}/g, "…"),
  );
}

/** Inserts a text between `<!-- name -->` and `<!-- end of name -->`. */
function insert(page: string, name: string, text: string): string {
  const marked = new RegExp(`<!-- ${name} -->.*<!-- end of ${name} -->`, "s");
  if (!marked.test(page)) throw new Error(`a page has no place for ${name}`);
  return page.replace(marked, () => `<!-- ${name} -->\n\n${text}\n\n<!-- end of ${name} -->`);
}

/** The rows of a table in a file, each with its cells. */
function rowsOf(file: string): string[][] {
  const [titles = [], , ...rows] = textOf(file)
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  return [titles, ...rows];
}

/** A matrix as a list: for each server the number of tests that passed, and the clauses that failed. */
function sumsOf(file: string): string {
  const [titles = [], ...clauses] = rowsOf(file);
  const lines = titles.slice(1).map((title, index) => {
    const cells = clauses.map((row) => [row[0] ?? "", row[index + 1] ?? ""] as const);
    const passed = cells.reduce((sum, [, cell]) => sum + Number(/^✓ (\d+)/.exec(cell)?.[1] ?? 0), 0);
    const failed = cells
      .filter(([, cell]) => cell.startsWith("✗"))
      .map(([clause, cell]) => `${clause}: ${cell}`);
    return `- ${title}: ${[`${passed} passed`, ...failed].join("; ")}`;
  });
  return lines.join("\n");
}

/** The table of faults in short: for each fault the backends that passed or failed it, and the longest times. */
function faultsOf(file: string): string {
  const [titles = [], ...faults] = rowsOf(file);
  const names = titles.map((title) => title.replace(/ \(.*$/, ""));
  const lines = faults.map(([fault, ...cells]) => {
    const passed = names.slice(1).filter((_, index) => cells[index]?.startsWith("✓"));
    const failed = names.slice(1).flatMap((name, index) => {
      const cell = cells[index] ?? "";
      return cell.startsWith("✗") ? [`**${name}: ${cell}**`] : [];
    });
    const longest = (pattern: RegExp) => {
      const times = cells.flatMap((cell) => pattern.exec(cell)?.[1] ?? []).map(Number);
      return times.length === 0 ? "" : `${Math.max(...times).toFixed(1)} s`;
    };
    const columns = [
      fault,
      [...passed, ...failed].join(", "),
      longest(/longest call ([\d.]+) s/),
      longest(/back in ([\d.]+) s/),
    ];
    return `| ${columns.join(" | ")} |`;
  });
  return ["| Fault | Passed on | Longest call | Back in |", "| --- | --- | --- | --- |", ...lines].join("\n");
}

/** The packages that need another one besides a database's client, each with the names of those in frameworks.json. */
const frameworks: Readonly<Record<string, readonly string[]>> = {
  "packages/agents": ["Mem0"],
  "packages/bridge-ai-sdk": ["AI SDK"],
  "packages/bridge-claude-agent": ["Claude Agent SDK"],
  "packages/bridge-genkit": ["Genkit"],
  "packages/bridge-google-adk": ["Google ADK"],
  "packages/bridge-langgraph": ["LangGraph"],
  "packages/bridge-openai-agents": ["OpenAI Agents SDK"],
  "packages/bridge-strands": ["Strands Agents"],
  "packages/store-core": ["OpenAI SDK", "Anthropic SDK"],
};

/** The peer dependencies of these packages, and the versions that their tests ran with. */
function peersTable(): string {
  const { rows, others }: FrameworkResults = JSON.parse(textOf("docs/generated/frameworks.json"));
  const lines = Object.entries(frameworks).map(([folder, names]) => {
    const { name, peerDependencies } = JSON.parse(textOf(`${folder}/package.json`)) as {
      name: string;
      peerDependencies: Record<string, string>;
    };
    const peers = Object.entries(peerDependencies)
      .filter(([peer]) => !/^@scrollback\//.test(peer))
      .map(([peer, range]) => `\`${peer}\` ${range}`);
    const tested = names.map((framework) => {
      const ran = [...rows, ...others].filter((one) => one.name === framework);
      const versions = new Set(ran.map(({ version }) => version));
      const inOrder = [...versions].sort((one, other) => one.localeCompare(other, "en", { numeric: true }));
      return `${framework} ${inOrder.join(", ")}`;
    });
    return `| \`${name}\` | ${peers.join(", ") || "none"} | ${tested.join("; ")} |`;
  });
  return ["| Package | Peer dependencies | Tested with |", "| --- | --- | --- |", ...lines].join("\n");
}

const pages: Record<string, (text: string) => string> = {
  "docs/generated/tests.md": testsPage,
  "docs/reference/compatibility.md": (text) =>
    ["servers", "node-22.13", "node-22", "bun", "deno"].reduce(
      (page, name) => insert(page, name, sumsOf(`docs/generated/matrix-${name}.md`)),
      insert(text, "peers", peersTable()),
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
