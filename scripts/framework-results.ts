import type {
  FrameworkTests,
  NestedFrameworkTest,
  OtherFramework,
} from "../conformance-tests/test/fixtures/framework-tests.ts";

/** The test results of one suite of a framework on one backend. */
export interface FrameworkRow {
  readonly name: string;
  readonly version: string;
  readonly suite: FrameworkTests["suite"];
  readonly backend: string;
  readonly passed: number;
  readonly failed: number;
}

/** The data of the table of frameworks by backends. */
export interface FrameworkResults {
  readonly rows: readonly FrameworkRow[];
  readonly others: readonly OtherFramework[];
}

/** The part of a Vitest report that contains framework results. */
export interface TestReport {
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly meta?: {
        readonly framework?: FrameworkTests;
        readonly otherFramework?: OtherFramework;
        readonly nestedFrameworkTests?: readonly NestedFrameworkTest[];
      };
    }[];
  }[];
}

/** In the order of the columns. */
const backendNames: readonly string[] = [
  "memory",
  "SQLite",
  "libSQL",
  "Redis",
  "Redis Cluster",
  "Valkey",
  "MongoDB",
  "DynamoDB",
  "PostgreSQL",
  "Durable Objects",
  "D1",
];

type Group = Omit<FrameworkRow, "passed" | "failed"> & { isWhole: boolean; tests: Map<string, FrameworkRow> };
const keyOf = ({ name, version, suite, backend }: Omit<FrameworkRow, "passed" | "failed">) =>
  JSON.stringify([name, version, suite, backend]);
const otherKeyOf = ({ name, age }: OtherFramework) => JSON.stringify([name, age]);

/**
 * The framework results in reports. A test that several files ran counts once, and as failed if it failed in one of them.
 * Several tests of one file with the same name count separately. Tests that did not run count as failed if their file failed;
 * otherwise a filter excluded them, and their group is omitted from the results.
 */
export function collectResults(reports: readonly TestReport[]): FrameworkResults {
  const groups = new Map<string, Group>();
  const others = new Map<string, OtherFramework>();
  const add = (framework: FrameworkTests, fullName: string, status: string, isFileGood: boolean) => {
    const { name, version, suite, backend, counts } = framework;
    const key = { name, version, suite, backend };
    const group = groups.get(keyOf(key)) ?? { ...key, isWhole: true, tests: new Map() };
    groups.set(keyOf(key), group);
    if (status !== "passed" && status !== "failed" && isFileGood) group.isWhole = false;
    const outcome = counts ?? (status === "passed" ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 });
    const before = group.tests.get(fullName);
    if (!before || before.failed === 0) group.tests.set(fullName, { ...key, ...outcome });
  };
  for (const { status: fileStatus, assertionResults } of reports.flatMap(({ testResults }) => testResults)) {
    const nameOf = numbered();
    for (const { fullName, status, meta } of assertionResults) {
      if (meta?.framework) add(meta.framework, nameOf(fullName), status, fileStatus === "passed");
      if (meta?.otherFramework) others.set(otherKeyOf(meta.otherFramework), meta.otherFramework);
      const nestedFiles = Map.groupBy(meta?.nestedFrameworkTests ?? [], ({ file }) => file);
      for (const nested of nestedFiles.values()) {
        const nameOfNested = numbered();
        for (const one of nested) add(one.framework, nameOfNested(one.fullName), one.status, false);
      }
    }
  }
  const rows = [...groups.values()].flatMap(({ isWhole, tests, ...key }): FrameworkRow[] => {
    const sum = (what: "passed" | "failed") => [...tests.values()].reduce((all, one) => all + one[what], 0);
    return isWhole ? [{ ...key, passed: sum("passed"), failed: sum("failed") }] : [];
  });
  return sorted({ rows, others: [...others.values()] });
}

/** Replaces results by newer ones. Removes framework versions that the newer results do not contain. */
export function mergeResults(last: FrameworkResults, found: FrameworkResults): FrameworkResults {
  const isFound = new Set(found.others.map(otherKeyOf));
  const others = [...last.others.filter((one) => !isFound.has(otherKeyOf(one))), ...found.others];
  const isKnown = ({ name, version }: FrameworkRow) =>
    !found.rows.some((row) => row.name === name) ||
    [...found.rows, ...others].some((one) => one.name === name && one.version === version);
  const replaced = new Set(found.rows.map(keyOf));
  const kept = last.rows.filter((row) => isKnown(row) && !replaced.has(keyOf(row)));
  return sorted({ rows: [...kept, ...found.rows], others });
}

/** Makes the names of a file's tests unique, by the number of earlier tests with the same name. */
function numbered(): (fullName: string) => string {
  const counts = new Map<string, number>();
  return (fullName) => {
    const count = (counts.get(fullName) ?? 0) + 1;
    counts.set(fullName, count);
    return `${fullName} ${count}`;
  };
}

function sorted({ rows, others }: FrameworkResults): FrameworkResults {
  const placeOf = ({ backend }: FrameworkRow) => backendNames.indexOf(backend);
  return {
    rows: rows.toSorted(
      (one, other) =>
        one.name.localeCompare(other.name) ||
        one.version.localeCompare(other.version, "en", { numeric: true }) ||
        other.suite.localeCompare(one.suite) ||
        placeOf(one) - placeOf(other),
    ),
    others: others.toSorted(
      (one, other) => one.name.localeCompare(other.name) || other.age.localeCompare(one.age),
    ),
  };
}

/** The results as Markdown: a table of frameworks by backends, and which versions are the oldest and the newest. */
export function frameworkTable({ rows, others }: FrameworkResults): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const titles = Map.groupBy(rows, ({ name, version, suite }) => `${name} ${version} | ${suite}`);
  const cell = (own: readonly FrameworkRow[], backend: string) => {
    const row = own.find((one) => one.backend === backend);
    if (!row) return "–";
    return row.failed > 0 ? `✗ ${row.failed} of ${row.failed + row.passed}` : `✓ ${row.passed}`;
  };
  const header = ["Framework", "Tests", ...backendNames];
  const table = [
    line(header),
    line(header.map(() => "---")),
    ...[...titles].map(([title, own]) => line([title, ...backendNames.map((name) => cell(own, name))])),
  ];
  const namesOf = (age: OtherFramework["age"], isPinned: boolean) =>
    others
      .filter((one) => one.age === age && (one.version === one.pinned) === isPinned)
      .map(({ name, version }) => (isPinned ? name : `${name} ${version}`))
      .join(", ");
  const notes = [
    ["The oldest version of the range", namesOf("oldest", false)],
    ["Newer than the version of every run", namesOf("newest", false)],
    ["The version of every run is the newest of its major version", namesOf("newest", true)],
  ].flatMap(([title, names]) => (names === "" ? [] : [`${title}: ${names}.`]));
  return [
    ...table,
    "",
    "✓ tests passed, ✗ tests failed, – not run.",
    ...notes.map((note) => `<br>${note}`),
  ].join("\n");
}
