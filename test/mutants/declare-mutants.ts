import { join } from "node:path";
import { sharedServer } from "@scrollback/conformance/servers";
import { beforeAll, expect, test } from "vitest";
import { outcomesOf } from "./nested-vitest.ts";
import { mutantsOf, soundRuns, titleOf } from "./table.ts";

/** Far above the time on a quiet machine, a few minutes: a busy one is several times slower. */
const TIMEOUT_MS = 1_800_000;

/** Declares the tests that the suite fails each mutant of some backends, by the clause that it breaks, and passes sound ones. */
export function declareMutants(...runs: readonly string[]): void {
  const mutants = mutantsOf(...runs);
  const sound = soundRuns.filter((one) => runs.includes(one.runs));
  /** By name: the titles of the tests that failed, their messages, and the number of tests that passed. */
  const failed = new Map<string, string[]>();
  const messages = new Map<string, string>();
  const passed = new Map<string, number>();

  beforeAll(async () => {
    // The nested run uses the same servers; starting them takes none of its time.
    for (const name of ["redis", "postgres"] as const) if (runs.includes(name)) await sharedServer(name);
    const config = join(import.meta.dirname, "vitest.config.ts");
    const env = { MUTANT_RUNS_ALL: runs.join(), CONFORMANCE_HISTORY_SECONDS: "4" };
    for (const one of await outcomesOf(config, { env, timeout: TIMEOUT_MS })) {
      if (one.status === "failed") failed.set(one.backend, [...(failed.get(one.backend) ?? []), one.title]);
      if (one.status === "passed") passed.set(one.backend, (passed.get(one.backend) ?? 0) + 1);
      messages.set(one.backend, (messages.get(one.backend) ?? "") + one.messages.join("\n"));
    }
    const width = Math.max(...mutants.map((mutant) => titleOf(mutant).length));
    const lines = mutants.map((mutant) => {
      const [first = "by NOTHING", ...more] = failed.get(titleOf(mutant)) ?? [];
      return `${titleOf(mutant).padEnd(width)}  ${mutant.breaks.padEnd(3)}  ${first}${more.length > 0 ? ` (and ${more.length} more)` : ""}`;
    });
    console.log(lines.join("\n"));
  }, TIMEOUT_MS + 10_000);

  test.each(sound.map((one) => [titleOf(one)] as const))(
    "a correct backend passes every test: %s",
    (name) => {
      expect(failed.get(name), messages.get(name)).toBeUndefined();
      expect(passed.get(name)).toBeGreaterThan(10);
    },
  );

  test.each(mutants.map((mutant) => [titleOf(mutant), mutant] as const))(
    "a source in which %s fails its clause",
    (name, { breaks, says }) => {
      expect(failed.get(name) ?? [], `tests of ${breaks} that fail`).not.toEqual([]);
      // Otherwise the changed source might not work at all.
      expect(messages.get(name)).not.toMatch(/SyntaxError|ReferenceError|is not a function|is not defined/);
      if (says) expect(messages.get(name)).toMatch(says);
    },
  );
}
