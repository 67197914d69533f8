import { expect, test } from "vitest";
import { explore, sample } from "./explore.ts";
import { scopes } from "./scopes.ts";

/** An execution takes about 10 ms. */
const TIMEOUT_MS = 600_000;

for (const [name, scope] of Object.entries(scopes)) {
  test(`${name}, in at most 2,000 orders from the first one on: nothing is lost, doubled or left behind`, {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { problem, states } = await explore({ ...scope, crashes: 0 }, 2_000);
    expect(problem).toBeUndefined();
    expect(states).toBeGreaterThan(100);
  });

  test(`${name}, in 5,000 orders with a death at any moment`, { timeout: TIMEOUT_MS }, async () => {
    expect((await sample(scope, 5_000)).problem).toBeUndefined();
  });
}
