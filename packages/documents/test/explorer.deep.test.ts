import { expect, test } from "vitest";
import { explore } from "./explorer/explore.ts";
import { largeScopes } from "./explorer/scopes.ts";

/** Of a scope. Some end before. */
const MOST_EXECUTIONS = 100_000;

test.each(largeScopes)(
  "the driver keeps its promises in: $name",
  async (scope) => {
    const { found, executions, states, isComplete } = await explore(scope, MOST_EXECUTIONS);
    expect(found).toBeUndefined();
    console.log(
      `${scope.name}: ${executions} executions, ${states} states${isComplete ? ", to the end" : ""}`,
    );
  },
  3_600_000,
);
