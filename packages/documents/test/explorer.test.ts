import { expect, test } from "vitest";
import { explore } from "./explorer/explore.ts";
import { smallScopes } from "./explorer/scopes.ts";

test.each(smallScopes)("every order of $name keeps the promises", async (scope) => {
  const { found, isComplete } = await explore(scope);
  expect(found).toBeUndefined();
  expect(isComplete).toBe(true);
});
