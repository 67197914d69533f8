import { join } from "node:path";
import { sharedServer } from "@scrollback/conformance/servers";
import { beforeAll, expect, test } from "vitest";
import { outcomesOf } from "../../conformance-tests/test/nested-vitest.ts";
import { type SourceMutant, sourceMutants, titleOf } from "./source-mutants.ts";

/** Far above the time on a quiet machine, about two minutes: a busy one is several times slower. */
const TIMEOUT_MS = 1_200_000;

/** Declares the tests that the suite fails each mutant of some backends, by the clause that it breaks. */
export function declareMutants(backends: readonly SourceMutant["backend"][]): void {
  const mutants = sourceMutants.filter(({ backend }) => backends.includes(backend));
  /** By mutant: the titles of the tests that failed. */
  const killers = new Map<string, string[]>();

  beforeAll(async () => {
    // The nested run uses the same servers; starting them takes none of its time.
    for (const name of ["redis", "postgres"] as const) if (backends.includes(name)) await sharedServer(name);
    const config = join(import.meta.dirname, "vitest.config.ts");
    const env = { MUTANT_BACKENDS: backends.join() };
    for (const { backend, title, status } of await outcomesOf(config, { env, timeout: TIMEOUT_MS })) {
      const before = killers.get(backend) ?? [];
      killers.set(backend, status === "failed" ? [...before, title] : before);
    }
    const width = Math.max(...mutants.map((mutant) => titleOf(mutant).length));
    const lines = mutants.map((mutant) => {
      const [first = "by NOTHING", ...more] = killers.get(titleOf(mutant)) ?? [];
      return `${titleOf(mutant).padEnd(width)}  ${mutant.breaks.padEnd(3)}  ${first}${more.length > 0 ? ` (and ${more.length} more)` : ""}`;
    });
    console.log(lines.join("\n"));
  }, TIMEOUT_MS + 10_000);

  test.each(mutants.map((mutant) => [titleOf(mutant), mutant.breaks] as const))(
    "a source in which %s fails %s",
    (name) => {
      expect(killers.get(name) ?? []).not.toEqual([]);
    },
  );
}
