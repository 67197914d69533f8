import { newServerUrl } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareKilledTest } from "./killed.ts";

for (const backend of ["MongoDB", "DynamoDB", "PostgreSQL"] as const)
  declareKilledTest(backend, () => newServerUrl(backend));
