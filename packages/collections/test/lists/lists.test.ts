import { expect, test } from "vitest";
import { firstProblem } from "./first-problem.ts";
import { smallScopes } from "./scopes.ts";

test("every order of small scopes, and random worlds, keep the promises of lists", async () => {
  expect(await firstProblem({ scopes: smallScopes, worlds: [1, 30], isTraced: true })).toBeUndefined();
}, 600_000);
