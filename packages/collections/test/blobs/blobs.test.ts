import { expect, test } from "vitest";
import { sample } from "./explore.ts";
import { scopes } from "./scopes.ts";

for (const [name, scope] of Object.entries(scopes))
  test(`${name}: no message without its content, no content without a message`, async () => {
    expect(await sample(scope, 200)).toBeUndefined();
  });
