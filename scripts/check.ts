/**
 * `node scripts/check.ts test|local|compatibility|fire|all` runs the project's checks and ends with one line: `N passed, N failed`.
 *
 * - `test`: builds, prepares the servers, runs every test.
 * - `local`: the tests that need no server: units, and the suite on memory, the record log, SQLite and files.
 * - `compatibility`: the suite on older servers, with other clients, and on Node.js 22.13 and 22; the bridges on every backend
 *   and with the newest versions of their frameworks. Takes about ten minutes.
 * - `fire`: the faults, many times each, and `compatibility`. Takes half an hour.
 * - `all`: the style, the types, and `test`.
 *
 * Every part runs, even after a failure. The end of the output repeats the failures: each failing test with its message, and
 * the last lines of a part that failed for another reason.
 */
import { spawn } from "node:child_process";
import { globSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { performance } from "node:perf_hooks";

const root = join(import.meta.dirname, "..");
const LAST_LINES = 150;
const LINES_A_FAILURE = 40;

interface Part {
  readonly name: string;
  readonly command: readonly [program: string, ...args: string[]];
  /** The file of its test results; a part without tests counts as one check. */
  readonly results?: string;
}

const serverTests = (name: string, ...args: string[]): Part => ({
  name,
  command: ["vitest", "run", "--config", "vitest.servers.config.ts", ...args],
  results: ".results/servers.json",
});
const suiteOnNode = (version: string, name: string): Part => ({
  name: `suite on Node ${version}`,
  command: [
    ...(["npx", "--yes", "--package", `node@${version}`] as const),
    ...["vitest", "run", "--config", "vitest.node-22.config.ts"],
  ],
  results: `.results/${name}.json`,
});
/** Records the results of the bridges' tests, for the table of frameworks by backends. */
const frameworks = (...reports: string[]): Part => ({
  name: "frameworks",
  command: ["node", "scripts/frameworks.ts", ...reports],
});
const frameworkTests = frameworks("packages/bridge-*/.results/unit.json", ".results/servers.json");
const compatibility: readonly Part[] = [
  {
    name: "suite on other servers and clients",
    command: ["vitest", "run", "--config", "vitest.compatibility.config.ts"],
    results: ".results/compatibility.json",
  },
  frameworks(".results/compatibility.json"),
  suiteOnNode("22.13.0", "node-22.13"),
  suiteOnNode("22", "node-22"),
];
const lint: Part = { name: "style", command: ["biome", "check", "--error-on-warnings", "."] };
const build: Part = { name: "build", command: ["turbo", "run", "build", "--output-logs=errors-only"] };
const types: Part = { name: "types", command: ["turbo", "run", "//#types", "--output-logs=errors-only"] };
const units: Part = {
  name: "unit tests",
  command: ["turbo", "run", "test:unit", "--output-logs=full", "--continue"],
  results: "{packages/*,conformance-tests,examples,site}/.results/unit.json",
};
const servers: Part = {
  name: "servers",
  command: ["node", "conformance-tests/servers/prepare.ts"],
};

/** A complete run measures the faults and the matrix anew. The pages that show them must follow, for the next run checks them. */
const pages: Part = { name: "pages", command: ["node", "scripts/pages.ts"] };

const plans: Record<string, readonly Part[]> = {
  test: [build, units, servers, serverTests("tests on servers"), frameworkTests, pages],
  local: [build, units, serverTests("suite without servers", "memory", "sqlite", "file", "record-log")],
  compatibility: [build, servers, ...compatibility, pages],
  fire: [
    build,
    servers,
    serverTests("faults and histories", "under-fire", "failover", "history", "conformance"),
    ...compatibility,
    pages,
  ],
  all: [lint, build, types, units, servers, serverTests("tests on servers"), frameworkTests, pages],
};

interface Outcome {
  readonly isGood: boolean;
  /** The details to print if the part failed. */
  readonly told: readonly string[];
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** A test file in a report of Vitest. */
interface TestFile {
  readonly name: string;
  readonly status: string;
  /** The reason why the file failed, if all of its tests passed. */
  readonly message: string;
  readonly assertionResults: readonly {
    readonly fullName: string;
    readonly status: string;
    readonly failureMessages: readonly string[];
  }[];
}

async function run(part: Part): Promise<Outcome> {
  for (const file of resultFiles(part)) rmSync(file);
  const [program, ...args] = part.command;
  const start = performance.now();
  const child = spawn(program, args, {
    cwd: root,
    env: {
      ...process.env,
      PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH}`,
      TURBO_TELEMETRY_DISABLED: "1",
      FORCE_COLOR: process.stdout.isTTY ? "1" : "0",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      process.stdout.write(chunk);
      output += chunk;
    });
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`\n== ${part.name}: ${code === 0 ? "done" : `failed (exit code ${code})`} in ${seconds} s\n`);
  const counts = part.results === undefined ? { passed: 0, failed: 0, skipped: 0 } : countTests(part);
  // A part that fails without a failing test, or that ran no test, counts as one failure.
  const isMissing = part.results !== undefined && counts.passed + counts.failed === 0;
  const isGood = code === 0 && counts.failed === 0 && !isMissing;
  const failed = isGood ? 0 : Math.max(1, counts.failed);
  const failures = failuresOf(part);
  const told = failures.length > 0 ? failures : [lastLines(output)];
  return { isGood, told: [`== what failed: ${part.name}`, ...told], ...counts, failed };
}

function resultFiles({ results }: Part): string[] {
  return results === undefined ? [] : globSync(results, { cwd: root }).map((file) => join(root, file));
}

function countTests(part: Part): { passed: number; failed: number; skipped: number } {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const file of resultFiles(part)) {
    const { numPassedTests, numFailedTests, numPendingTests, numTodoTests } = JSON.parse(
      readFileSync(file, "utf8"),
    );
    counts.passed += numPassedTests;
    counts.failed += numFailedTests;
    counts.skipped += numPendingTests + numTodoTests;
  }
  return counts;
}

/** Each failing test with its file and message, from the reports of the part's tests. */
function failuresOf(part: Part): string[] {
  const tell = (file: string, test: string, message: string) =>
    `FAIL ${relative(root, file)}${test}\n${message.split("\n").slice(0, LINES_A_FAILURE).join("\n")}`;
  return resultFiles(part).flatMap((report) =>
    JSON.parse(readFileSync(report, "utf8")).testResults.flatMap((file: TestFile) => {
      const failing = file.assertionResults.filter(({ status }) => status === "failed");
      if (failing.length === 0 && file.status === "failed") return [tell(file.name, "", file.message)];
      return failing.map((test) => tell(file.name, ` > ${test.fullName}`, test.failureMessages.join("\n")));
    }),
  );
}

const lastLines = (output: string) => output.trimEnd().split("\n").slice(-LAST_LINES).join("\n");

const plan = plans[process.argv[2] ?? ""];
if (!plan) {
  console.error(`usage: node scripts/check.ts ${Object.keys(plans).join("|")}`);
  process.exit(2);
}
const outcomes: Outcome[] = [];
for (const part of plan) outcomes.push(await run(part));
for (const { told } of outcomes.filter((outcome) => !outcome.isGood)) console.log(`${told.join("\n\n")}\n`);
const sum = (count: "passed" | "failed" | "skipped") =>
  outcomes.reduce((total, outcome) => total + outcome[count], 0);
const skipped = sum("skipped");
console.log(`${sum("passed")} passed, ${sum("failed")} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
process.exitCode = outcomes.every((outcome) => outcome.isGood) ? 0 : 1;
