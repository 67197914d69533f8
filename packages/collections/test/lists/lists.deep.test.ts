import { expect, test } from "vitest";
import { runMutated } from "../../../../conformance-tests/test/fixtures/source-mutants/run-mutated.ts";
import { explore } from "./explore.ts";
import { listsMutants } from "./mutants.ts";
import { largeScopes } from "./scopes.ts";
import { runWorlds } from "./world.ts";

const WORLDS = Number(process.env.SCROLLBACK_WORLDS ?? 1_000);
/** Above it, a scope is explored in part. */
const MOST_EXECUTIONS = 1_000;
/** Far above the time that a busy machine needs. */
const TIMEOUT_MS = 600_000;

test.each(largeScopes)(
  "every order of $name keeps the promises of lists",
  async (scope) => {
    const { problem, trace } = await explore(scope, MOST_EXECUTIONS);
    expect({ problem, trace }).toEqual({});
  },
  TIMEOUT_MS,
);

test(
  "lists keep their promises in random worlds",
  async () => {
    const { problem, trace, counts } = await runWorlds(1, WORLDS);
    expect({ problem, trace }).toEqual({});
    // The worlds included the events that they must test.
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(WORLDS / 20);
  },
  TIMEOUT_MS,
);

test.each(listsMutants)(
  "lists without the rule that $rule are detected",
  async ({ changes, scope, seed }) => {
    const env = scope ? { MUTANT_SCOPE: JSON.stringify(scope) } : { MUTANT_SEED: String(seed) };
    const found = await runMutated<string>(new URL("worker.ts", import.meta.url), changes, env);
    expect(found).toMatch(/ (is|has|was|tells) /);
    expect(found).not.toMatch(/^failed/);
  },
  TIMEOUT_MS,
);
