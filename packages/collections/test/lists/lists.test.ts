import { expect, test } from "vitest";
import { explore } from "./explore.ts";
import { smallScopes } from "./scopes.ts";
import { runWorlds } from "./world.ts";

test.each(smallScopes)("every order of $name keeps the promises of lists", async (scope) => {
  const { problem, trace } = await explore(scope);
  expect({ problem, trace }).toEqual({});
});

test("lists keep their promises in random worlds", async () => {
  const { problem, trace } = await runWorlds(1, 30);
  expect({ problem, trace }).toEqual({});
});
