import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { FrameworkTests } from "../conformance-tests/test/fixtures/framework-tests.ts";
import { framework as aiSdk } from "../packages/bridge-ai-sdk/test/framework.ts";
import { framework as claudeAgent } from "../packages/bridge-claude-agent/test/framework.ts";
import { framework as genkit } from "../packages/bridge-genkit/test/framework.ts";
import { framework as googleAdk } from "../packages/bridge-google-adk/test/framework.ts";
import { framework as langGraph } from "../packages/bridge-langgraph/test/framework.ts";
import { framework as openAiAgents } from "../packages/bridge-openai-agents/test/framework.ts";
import { framework as strands } from "../packages/bridge-strands/test/framework.ts";
import {
  collectResults,
  type FrameworkResults,
  type FrameworkRow,
  frameworkTable,
  mergeResults,
  type TestReport,
} from "../scripts/framework-results.ts";

const testsOf = (backend: string, fields: Partial<FrameworkTests> = {}): FrameworkTests => ({
  ...{ name: "Graph", version: "1.2.0", suite: "ours", backend },
  ...fields,
});
type Assertion = TestReport["testResults"][number]["assertionResults"][number];
const assertion = (fullName: string, status: string, framework: FrameworkTests): Assertion => ({
  ...{ fullName, status, meta: { framework } },
});
const report = (status: string, ...assertionResults: Assertion[]): TestReport => ({
  testResults: [{ status, assertionResults }],
});
const row = (backend: string, passed: number, failed = 0, fields: Partial<FrameworkRow> = {}) => ({
  ...{ name: "Graph", version: "1.2.0", suite: "ours" as const, backend, passed, failed },
  ...fields,
});

describe("the results of frameworks", () => {
  test("count each test once per backend, and the counts of a nested run", () => {
    const many = testsOf("memory", { suite: "theirs", counts: { passed: 126, failed: 2 } });
    const reports = [
      report(
        "failed",
        assertion("a", "passed", testsOf("Redis")),
        assertion("b", "failed", testsOf("Redis")),
      ),
      report(
        "passed",
        ...[1, 2].map(() => assertion("a", "passed", testsOf("memory"))),
        assertion("all", "failed", many),
      ),
      report(
        "passed",
        assertion("a", "passed", testsOf("memory")),
        assertion("b", "passed", testsOf("Redis")),
      ),
    ];
    expect(collectResults(reports).rows).toEqual([
      row("memory", 126, 2, { suite: "theirs" }),
      row("memory", 2),
      row("Redis", 1, 1),
    ]);
  });

  test("count tests that did not run in a failed file as failed, and omit a suite that a filter cut", () => {
    const reports = [
      report("failed", assertion("a", "skipped", testsOf("Redis"))),
      report(
        "passed",
        assertion("a", "skipped", testsOf("memory")),
        assertion("b", "passed", testsOf("memory")),
      ),
    ];
    expect(collectResults(reports).rows).toEqual([row("Redis", 0, 1)]);
  });

  test("have the results with the newest version of a framework", () => {
    const otherFramework = { name: "Graph", version: "1.10.0", pinned: "1.2.0", age: "newest" as const };
    const framework = testsOf("Redis", { version: "1.10.0" });
    const nestedFrameworkTests = ["one", "other", "other"].map((file) => ({
      ...{ file, fullName: "a", status: "passed", framework },
    }));
    const newest = { fullName: "newest", status: "passed", meta: { otherFramework, nestedFrameworkTests } };
    const found = collectResults([
      report("passed", assertion("a", "passed", testsOf("Redis")), newest),
      report("passed", { fullName: "of no bridge", status: "passed" }),
    ]);
    expect(found).toEqual({
      rows: [row("Redis", 1), row("Redis", 2, 0, { version: "1.10.0" })],
      others: [otherFramework],
    });
    expect(frameworkTable(found)).toContain("<br>Newer than the version of every run: Graph 1.10.0.");
  });

  test("replace those of the last run, keep those not run, and drop removed versions", () => {
    const last: FrameworkResults = {
      rows: [
        row("memory", 3),
        row("Redis", 3),
        row("Redis", 2, 0, { version: "1.1.0" }),
        row("Redis", 9, 0, { name: "Kit" }),
      ],
      others: [
        { name: "Graph", version: "1.1.0", pinned: "1.2.0", age: "oldest" },
        { name: "Graph", version: "1.2.0", pinned: "1.2.0", age: "newest" },
      ],
    };
    const merged = mergeResults(last, {
      rows: [row("Redis", 3, 1)],
      others: [{ name: "Graph", version: "1.1.1", pinned: "1.2.0", age: "oldest" }],
    });
    expect(merged).toEqual({
      rows: [row("memory", 3), row("Redis", 3, 1), row("Redis", 9, 0, { name: "Kit" })],
      others: [
        { name: "Graph", version: "1.1.1", pinned: "1.2.0", age: "oldest" },
        { name: "Graph", version: "1.2.0", pinned: "1.2.0", age: "newest" },
      ],
    });
    expect(frameworkTable(merged)).toBe(
      [
        "| Framework | Tests | memory | SQLite | libSQL | Redis | Redis Cluster | Valkey | MongoDB | DynamoDB | PostgreSQL | Durable Objects | D1 |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        "| Graph 1.2.0 | ours | ✓ 3 | – | – | ✗ 1 of 4 | – | – | – | – | – | – | – |",
        "| Kit 1.2.0 | ours | – | – | – | ✓ 9 | – | – | – | – | – | – | – |",
        "",
        "✓ tests passed, ✗ tests failed, – not run.",
        "<br>The oldest version of the range: Graph 1.1.1.",
        "<br>The version of every run is the newest of its major version: Graph.",
      ].join("\n"),
    );
  });
});

test("docs/generated/frameworks.json has the versions that the tests run with", () => {
  const file = join(import.meta.dirname, "../docs/generated/frameworks.json");
  const { rows, others }: FrameworkResults = JSON.parse(readFileSync(file, "utf8"));
  const frameworks = [aiSdk, claudeAgent, genkit, googleAdk, langGraph, openAiAgents, strands];
  const pinned = frameworks.map(({ name, version }) => `${name} ${version}`).sort();
  const remedy = "docs/generated/frameworks.json is of other versions; run npm test";
  const isOther = (one: FrameworkRow) =>
    others.some(
      ({ name, version, pinned: other }) => one.name === name && one.version === version && other !== version,
    );
  const found = new Set(rows.filter((one) => !isOther(one)).map(({ name, version }) => `${name} ${version}`));
  expect([...found].sort(), remedy).toEqual(pinned);
  for (const name of pinned) {
    const backends = rows.filter((one) => `${one.name} ${one.version}` === name && one.suite === "ours");
    for (const backend of ["memory", "SQLite", "Redis"])
      expect(
        backends.map((one) => one.backend),
        `${name}: ${remedy}`,
      ).toContain(backend);
  }
});
