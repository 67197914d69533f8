import { scratchUrl } from "../../../../conformance-tests/test/fixtures/scratch-url.ts";
import { newServerUrl } from "../../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareCrashes } from "./crashes.ts";

declareCrashes("SQLite", async () => scratchUrl());
for (const backend of ["MongoDB", "DynamoDB"] as const) declareCrashes(backend, () => newServerUrl(backend));
