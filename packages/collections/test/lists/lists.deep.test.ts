import { expect, test } from "vitest";
import { mutantsOf } from "../../../../test/mutants/table.ts";
import { firstProblem } from "./first-problem.ts";
import { largeScopes, type ScopeArguments, scopeOf } from "./scopes.ts";

const WORLDS = Number(process.env.SCROLLBACK_WORLDS ?? 1_000);
/** Above it, a scope is explored in part. */
const MOST_EXECUTIONS = 300;
/** Far above the time that a busy machine needs. */
const TIMEOUT_MS = 600_000;

test(
  "every order of large scopes keeps the promises of lists",
  async () => {
    const run = { scopes: largeScopes, mostExecutions: MOST_EXECUTIONS, isTraced: true };
    expect(await firstProblem(run)).toBeUndefined();
  },
  TIMEOUT_MS,
);

test(
  "lists keep their promises in random worlds",
  async () => {
    expect(await firstProblem({ worlds: [1, WORLDS], isTraced: true })).toBeUndefined();
  },
  TIMEOUT_MS,
);

test.each(mutantsOf("lists"))(
  "lists without the rule that $name are detected",
  async ({ changes, breaks }) => {
    const given: ScopeArguments | number = JSON.parse(breaks);
    const found = await firstProblem(
      typeof given === "number" ? { worlds: [given, 1_000] } : { scopes: [scopeOf(...given)] },
      changes,
    );
    expect(found).toMatch(/ (is|has|was|tells) /);
    expect(found).not.toMatch(/^failed/);
  },
  TIMEOUT_MS,
);
