import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runVitest } from "../conformance-tests/test/nested-vitest.ts";
import { sourceMutants, titleOf } from "./mutants/source-mutants.ts";

const TIMEOUT_MS = 400_000;

interface Report {
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly {
      readonly ancestorTitles: readonly string[];
      readonly title: string;
      readonly status: string;
    }[];
  }[];
}

/** By mutant: the titles of the tests that failed it. */
const killers = new Map<string, string[]>();
let server: RunningServer;

beforeAll(async () => {
  server = await startServer("redis");
  const directory = await mkdtemp(join(tmpdir(), "scrollback-mutants-"));
  const file = join(directory, "report.json");
  const config = join(import.meta.dirname, "mutants/vitest.config.ts");
  const env = { SCROLLBACK_REDIS_URL: server.url, TMPDIR: directory };
  const output = await runVitest(config, ["--outputFile", file], { env, timeout: TIMEOUT_MS });
  const text = await readFile(file, "utf8").catch(() => {
    throw new Error(`the mutants did not run: ${output}`);
  });
  const report: Report = JSON.parse(text);
  for (const { message, assertionResults } of report.testResults) {
    if (assertionResults.length === 0) throw new Error(`a mutant did not run: ${message}`);
    for (const { ancestorTitles, title, status } of assertionResults) {
      const mutant = ancestorTitles[0] ?? "";
      const before = killers.get(mutant) ?? [];
      killers.set(mutant, status === "failed" ? [...before, title] : before);
    }
  }
  const width = Math.max(...sourceMutants.map((mutant) => titleOf(mutant).length));
  const lines = sourceMutants.map((mutant) => {
    const [first = "by NOTHING", ...more] = killers.get(titleOf(mutant)) ?? [];
    return `${titleOf(mutant).padEnd(width)}  ${mutant.breaks.padEnd(3)}  ${first}${more.length > 0 ? ` (and ${more.length} more)` : ""}`;
  });
  console.log(lines.join("\n"));
  await rm(directory, { recursive: true });
}, TIMEOUT_MS + 10_000);
afterAll(() => server.stop());

test.each(sourceMutants.map((mutant) => [titleOf(mutant), mutant.breaks] as const))(
  "a source in which %s is failed by %s",
  (name) => {
    expect(killers.get(name)).not.toEqual([]);
  },
);

test("every clause has a mutant", async () => {
  const { mutants } = await import("../conformance-tests/test/mutants/index.ts");
  const broken = new Set([...mutants, ...sourceMutants].map(({ breaks }) => breaks));
  const clauses = Array.from({ length: 18 }, (_, index) => `C${index + 1}`);
  expect(clauses.filter((clause) => !broken.has(clause))).toEqual([]);
});
