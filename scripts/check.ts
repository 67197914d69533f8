/**
 * `node scripts/check.ts quick|test|deep|ci` runs a plan of checks and ends with one line: `N passed, N failed`.
 *
 * - `quick`: the tests that need no server: units, and the suite on memory, documents and SQLite.
 * - `test`: prepares the servers, and runs `quick` and the tests on servers.
 * - `deep`: `test` with more rounds, and what only this plan runs: all mutants, simulations at length, repeated faults, frameworks on
 *   all servers, older servers, clients and versions of Node.js, Bun, Deno, packaging, the site. Writes the generated pages.
 * - `ci`: style, types, `test`, and parts of `deep`: the suite on DynamoDB, PostgreSQL and MariaDB, the faults planted in
 *   documents, the pages, packaging, the site.
 *
 * CONTRIBUTING.md says what each plan covers. Every part runs, even after a failure. The end of the output repeats the failures, then
 * the minutes of each part beside its limit.
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
  readonly env?: Readonly<Record<string, string>>;
  /** The file of its test results; a part without tests counts as one check. */
  readonly results?: string;
  /** What the part takes at most on 2 quiet cores. A part that takes longer is reported as grown. */
  readonly minutes: number;
}

/** Tests by project and file: the projects are those of vitest.config.ts. */
const tests = (
  name: string,
  minutes: number,
  projects: readonly string[],
  { files = [], env = {} }: { files?: readonly string[]; env?: Record<string, string> } = {},
): Part => {
  const report = name.replaceAll(/,? /g, "-");
  return {
    name,
    minutes,
    command: ["vitest", "run", ...projects.map((project) => `--project=${project}`), ...files],
    env: { SCROLLBACK_REPORT: report, ...env },
    results: `.results/${report}.json`,
  };
};
const suiteOnNode = (version: string, name: string): Part => ({
  name: `suite on Node ${version}`,
  minutes: 5,
  command: [
    ...(["npx", "--yes", "--package", `node@${version}`] as const),
    ...["vitest", "run", "--config", "vitest.node-22.config.ts"],
  ],
  results: `.results/${name}.json`,
});
const suiteOnRuntime = (runtime: "bun" | "deno"): Part => ({
  name: `suite on ${runtime}`,
  minutes: 10,
  command: ["node", "--conditions=scrollback-source", "scripts/suite-on-runtime.ts", runtime],
  results: `.results/${runtime}.json`,
});
const servers = (minutes: number, ...names: string[]): Part => ({
  name: "servers",
  minutes,
  command: ["node", "conformance-tests/servers/prepare.ts", ...names],
});
const lint: Part = { name: "style", minutes: 0.5, command: ["biome", "check", "--error-on-warnings", "."] };
const build: Part = {
  name: "build",
  minutes: 1,
  command: ["turbo", "run", "build", "--output-logs=errors-only"],
};
const types: Part = {
  name: "types",
  minutes: 1.5,
  command: [
    "tsc",
    "-b",
    ".",
    "examples/web-chat",
    "examples/cloudflare/page",
    "packages/cli/src/ui/page",
    "site",
  ],
};
const pages: Part = { name: "pages", minutes: 0.1, command: ["npm", "run", "--silent", "pages"] };
const units = tests("unit tests", 3.5, ["unit"]);
// More workers than cores, because these tests wait for servers.
const onServers = tests("tests on servers", 10, ["server"], { files: ["--maxWorkers=4"] });

/** More rounds, steps, writers and time. */
const DEEP = { SCROLLBACK_DEEP: "1" };

/** Parts of one stage run side by side; the next stage begins when they have ended. */
type Plan = readonly (readonly Part[])[];
const planOn = (...more: string[]): Plan => [
  [servers(7, "redis", "mongodb", "dynamodb", "mariadb", "s3", "chromium", ...more), units],
  [build],
  [onServers],
];
/** The parts of the deep plan that every change is checked against. */
const ofDeep = tests("parts of the deep plan", 17, ["deep"], {
  files: [
    ...["packages/store-postgres/test/conformance.deep", "packages/store-dynamo/test/conformance.deep"],
    ...["packages/store-postgres/test/transactions", "packages/store-postgres/test/security"],
    ...["examples/mariadb/test/conformance.deep", "examples/test/langgraph-postgres"],
    ...["packages/documents/test/planted-faults", "reporter.deep", "test/docs.deep"],
    ...["web-chat-servers.deep", "web-chat-concurrent.deep", "examples/nextjs"],
    ...["test/closing.deep", "store-core/test/observation", "unobserved.deep", "servers-absent.deep"],
    ...["test/packages.deep", "test/release.deep", "test/bundlers.deep"],
    ...["packages/cli/test/packed.deep", "site/test/site.deep", "store-core/test/opentelemetry"],
  ],
});
const plans: Record<string, Plan> = {
  quick: [[units]],
  test: planOn(),
  ci: [[lint], [types], ...planOn("postgres"), [ofDeep]],
  deep: [
    [servers(7), build],
    [
      tests("all tests", 25, ["unit", "server"], {
        env: {
          ...DEEP,
          SCROLLBACK_MATRIX: JSON.stringify({
            file: "docs/generated/matrix.md",
            faultsFile: "docs/generated/faults-measured.md",
          }),
        },
      }),
    ],
    // A deep test checks that they are up to date.
    [pages],
    [
      tests("deep tests", 60, ["deep"], {
        env: { ...DEEP, SCROLLBACK_MATRIX: JSON.stringify({ file: "docs/generated/matrix-servers.md" }) },
      }),
    ],
    [suiteOnNode("22.13.0", "node-22.13")],
    [suiteOnNode("22", "node-22")],
    [suiteOnRuntime("bun")],
    [suiteOnRuntime("deno")],
    [
      {
        name: "frameworks",
        minutes: 0.1,
        command: ["node", "scripts/frameworks.ts", ".results/all-tests.json", ".results/deep-tests.json"],
      },
    ],
    [pages],
  ],
};

interface Outcome {
  readonly part: Part;
  readonly seconds: number;
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
      ...part.env,
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
  const seconds = (performance.now() - start) / 1000;
  const end = code === 0 ? "done" : `failed (exit code ${code})`;
  console.log(`\n== ${part.name}: ${end} in ${seconds.toFixed(1)} s\n`);
  const counts = part.results === undefined ? { passed: 0, failed: 0, skipped: 0 } : countTests(part);
  // A part that fails without a failing test, or that ran no test, counts as one failure.
  const isMissing = part.results !== undefined && counts.passed + counts.failed === 0;
  const isGood = code === 0 && counts.failed === 0 && !isMissing;
  const failed = isGood ? 0 : Math.max(1, counts.failed);
  const failures = failuresOf(part);
  // A file of tests whose process died has no message: the reason is at the end of the output.
  const isExplained = failures.length > 0 && failures.every(({ message }) => message !== "");
  const told = [...failures.map(textOf), ...(isExplained ? [] : [lastLines(output)])];
  return { part, seconds, isGood, told: [`== what failed: ${part.name}`, ...told], ...counts, failed };
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

interface Failure {
  readonly test: string;
  readonly message: string;
}

const textOf = ({ test, message }: Failure) =>
  `FAIL ${test}\n${message.split("\n").slice(0, LINES_A_FAILURE).join("\n")}`;

/** Each failing test with its file and message, from the reports of the part's tests. */
function failuresOf(part: Part): Failure[] {
  return resultFiles(part).flatMap((report) =>
    JSON.parse(readFileSync(report, "utf8")).testResults.flatMap((file: TestFile) => {
      const failing = file.assertionResults.filter(({ status }) => status === "failed");
      const name = relative(root, file.name);
      if (failing.length === 0 && file.status === "failed") return [{ test: name, message: file.message }];
      return failing.map((test) => ({
        test: `${name} > ${test.fullName}`,
        message: test.failureMessages.join("\n"),
      }));
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
for (const stage of plan) outcomes.push(...(await Promise.all(stage.map(run))));
for (const { told } of outcomes.filter((outcome) => !outcome.isGood)) console.log(`${told.join("\n\n")}\n`);
for (const { part, seconds } of outcomes) {
  const grown = seconds / 60 > part.minutes ? ` (grown: its limit is ${part.minutes})` : "";
  console.log(`${(seconds / 60).toFixed(1).padStart(6)} minutes  ${part.name}${grown}`);
}
const sum = (count: "passed" | "failed" | "skipped") =>
  outcomes.reduce((total, outcome) => total + outcome[count], 0);
const skipped = sum("skipped");
console.log(`${sum("passed")} passed, ${sum("failed")} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
process.exitCode = outcomes.every((outcome) => outcome.isGood) ? 0 : 1;
