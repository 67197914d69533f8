import { expect, test } from "vitest";
import { explore, sample } from "./explore.ts";
import { scopes } from "./scopes.ts";

for (const [name, scope] of Object.entries(scopes)) {
  test(`${name}, in every order: nothing is lost, doubled or left behind`, {
    timeout: 3_600_000,
  }, async () => {
    const { problem, states } = await explore({ ...scope, crashes: 0 });
    expect(problem).toBeUndefined();
    expect(states).toBeGreaterThan(100);
  });

  test(`${name}, in 20,000 orders with a death at any moment`, { timeout: 3_600_000 }, async () => {
    expect((await sample(scope, 20_000)).problem).toBeUndefined();
  });
}
