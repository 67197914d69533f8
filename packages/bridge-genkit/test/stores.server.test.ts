import { expect, test } from "vitest";
import { onEachServer, serverUrl } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { runGenkitTests } from "./genkit-tests/run.ts";
import { declareStoreTests } from "./store-tests.ts";

onEachServer(declareStoreTests);

test("Genkit's own 126 tests of agents and session stores pass on Redis", async () => {
  expect(await runGenkitTests(await serverUrl("Redis"))).toEqual({ passed: 126, failed: [] });
});
