import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

test("the adapters use the same copy of store-core as the benchmark", () => {
  const here = createRequire(import.meta.url);
  const expected = here.resolve("@scrollback/store-core");
  for (const adapter of ["@scrollback/store-redis", "@scrollback/store-sqlite"]) {
    assert.equal(createRequire(here.resolve(adapter)).resolve("@scrollback/store-core"), expected);
  }
});
