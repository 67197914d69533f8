import { scratchUrl } from "../../../conformance-tests/test/fixtures/scratch-url.ts";
import { newServerUrl } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareKilledTest } from "./killed.ts";

declareKilledTest("SQLite", async () => scratchUrl());
for (const backend of ["MongoDB", "DynamoDB", "PostgreSQL"] as const)
  declareKilledTest(backend, () => newServerUrl(backend));
