import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { MatrixReporter } from "./conformance-tests/src/reporter.ts";
import { fromSource, processesFromSource } from "./vitest.source.ts";

/**
 * The tests of the repository, read from the sources: units and tests on servers need no build (but the web chat's page). A file's name
 * says what it needs and which plan runs it:
 *
 * - `*.test.ts`: no server. Every plan.
 * - `*.server.test.ts`: a server, a browser, or time. `npm test` and the deep plan.
 * - `*.deep.test.ts`: the deep plan, and some the checks of CI.
 *
 * `scripts/check.ts` names its reports in `SCROLLBACK_REPORT`, and the pages that a deep run writes in `SCROLLBACK_MATRIX`; other
 * runs write none.
 */
const report = process.env.SCROLLBACK_REPORT;
/** In the deep plan, the suite on all backends is in one table. */
const suites =
  process.env.SCROLLBACK_DEEP === "1"
    ? [
        "packages/store-*/test/conformance{,-cluster,-d1,-pglite}.deep.test.ts",
        "examples/mariadb/test/conformance.deep.test.ts",
      ]
    : [];

/** Some minutes each. They begin first, so that none of them runs alone at the end. */
const longest =
  /\/(mutants\.server|nextjs\.deep|store-(dynamo|mongo)\/test\/conformance\.(deep|server))\.test\.ts$/;
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => longest.test(moduleId);
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

const ignored = ["**/node_modules/**", "**/dist/**", "benchmarks/**", ".results/**"];
const project = (name: string, include: string[], exclude: string[], limits: object) => ({
  ...fromSource,
  test: {
    name,
    include,
    exclude: [...ignored, ...exclude],
    ...processesFromSource,
    // Workers are shared by files.
    restoreMocks: true,
    setupFiles: "./conformance-tests/test/fixtures/end-file.ts",
    // A second, the default, is too short on a busy machine.
    expect: { poll: { timeout: 30_000 } },
    ...limits,
  },
});

export default defineConfig({
  test: {
    globalSetup: "conformance-tests/servers/global-setup.ts",
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    projects: [
      project("unit", ["**/*.test.ts"], ["**/*.{server,deep}.test.ts"], {
        // A worker of its own for each file would cost half a second a file.
        isolate: false,
        // Ends a test that hangs. Tests that compute for half a minute take some minutes on a busy machine.
        testTimeout: 300_000,
        hookTimeout: 300_000,
      }),
      project("server", ["**/*.server.test.ts", ...suites], [], {
        isolate: false,
        testTimeout: 180_000,
        hookTimeout: 300_000,
      }),
      project("deep", ["**/*.deep.test.ts"], suites, { testTimeout: 180_000, hookTimeout: 300_000 }),
    ],
    reporters:
      report === undefined
        ? ["default"]
        : [
            "default",
            ["json", { outputFile: `.results/${report}.json` }],
            new MatrixReporter(JSON.parse(process.env.SCROLLBACK_MATRIX ?? "{}")),
          ],
  },
});
