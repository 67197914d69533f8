import { expect, test } from "vitest";
import { sample } from "./explore.ts";
import { scopes } from "./scopes.ts";

for (const [name, scope] of Object.entries(scopes))
  test(`${name}, in 200 orders, with a death: nothing is lost, doubled or left behind`, async () => {
    expect((await sample(scope, 200)).problem).toBeUndefined();
  });
