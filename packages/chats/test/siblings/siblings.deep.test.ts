import { expect, test } from "vitest";
import { explore } from "./explore.ts";
import { scopes } from "./scopes.ts";

for (const [name, scope] of Object.entries(scopes))
  test(`${name}, in every order, with a death at any moment: nothing is lost, doubled or left behind`, {
    timeout: 3_600_000,
  }, async () => {
    const { problem, states } = await explore(scope);
    expect(problem).toBeUndefined();
    expect(states).toBeGreaterThan(1_000);
  });
