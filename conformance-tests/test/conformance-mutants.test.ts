import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { mutants, SOUND } from "./mutants/index.ts";
import { runVitest } from "./nested-vitest.ts";

const TIMEOUT_MS = 170_000;

/** The clauses of the tests that ended so, by backend. */
const failed = new Map<string, Set<string>>();
const passed = new Map<string, Set<string>>();
/** The titles of the tests that failed, by backend. */
const killers = new Map<string, string[]>();

/** Runs the suite on every mutant, in a Vitest of its own, and returns what it reports. */
async function runMutants(): Promise<Report> {
  const directory = await mkdtemp(join(tmpdir(), "scrollback-mutants-"));
  const file = join(directory, "report.json");
  try {
    const config = join(import.meta.dirname, "mutants/vitest.config.ts");
    const output = await runVitest(config, ["--outputFile", file], {
      env: { CONFORMANCE_HISTORY_SECONDS: "5" },
      timeout: TIMEOUT_MS,
    });
    const report = await readFile(file, "utf8").catch(() => undefined);
    if (report === undefined) throw new Error(`the mutants did not run: ${output}`);
    return JSON.parse(report);
  } finally {
    await rm(directory, { recursive: true });
  }
}

interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly ancestorTitles: readonly string[];
      readonly title: string;
      readonly status: string;
    }[];
  }[];
}

beforeAll(async () => {
  const { testResults } = await runMutants();
  for (const { ancestorTitles, title, status } of testResults.flatMap((file) => file.assertionResults)) {
    const outcomes = status === "failed" ? failed : status === "passed" ? passed : undefined;
    const [backend = ""] = ancestorTitles;
    outcomes?.set(backend, (outcomes.get(backend) ?? new Set()).add(title.split(" ")[0] ?? ""));
    if (status === "failed") killers.set(backend, [...(killers.get(backend) ?? []), title]);
  }
  const width = Math.max(...mutants.map(({ name }) => name.length));
  const lines = mutants.map(({ name, breaks }) => {
    const [first = "by NOTHING", ...more] = killers.get(name) ?? [];
    const others = more.length > 0 ? ` (and ${more.length} more)` : "";
    return `a backend that ${name.padEnd(width)}  ${breaks.padEnd(3)}  ${first}${others}`;
  });
  console.log(lines.join("\n"));
}, TIMEOUT_MS + 10_000);

test("a backend that is sound is failed by nothing", () => {
  expect([...(failed.get(SOUND) ?? [])]).toEqual([]);
  expect(passed.get(SOUND)?.size, "clauses that passed").toBeGreaterThanOrEqual(18);
});

test.each(mutants.map(({ name, breaks }) => [name, breaks] as const))(
  "a backend that %s is failed by %s",
  (name, breaks) => {
    expect([...(failed.get(name) ?? [])]).toEqual([breaks]);
    // Else it may be that nothing of it works.
    expect([...(passed.get(name) ?? [])], "tests of the clause that pass").toEqual([breaks]);
  },
);
