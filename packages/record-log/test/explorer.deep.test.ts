import { expect, test } from "vitest";
import { explore } from "./explorer/explore.ts";
import { families } from "./explorer/scopes.ts";

/** Of a family. Small scopes end before their share of it. */
const MOST_EXECUTIONS = 100_000;
const TIMEOUT_MS = 3_600_000;

test.each(Object.entries(families))(
  "the record log keeps its promises in: %s",
  { timeout: TIMEOUT_MS },
  async (family, scopes) => {
    let [complete, executions] = [0, 0];
    for (const scope of scopes) {
      const explored = await explore(scope, Math.ceil(MOST_EXECUTIONS / scopes.length));
      expect(explored.found, scope.name).toBeUndefined();
      executions += explored.executions;
      complete += explored.isComplete ? 1 : 0;
    }
    console.log(`${family}: ${executions} executions, ${complete} of ${scopes.length} scopes to the end`);
  },
);
