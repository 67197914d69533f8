import { scratchUrl } from "../../../conformance-tests/test/fixtures/scratch-url.ts";
import { newServerUrl } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareRestarts } from "./restarts.ts";

declareRestarts("SQLite", async () => scratchUrl());
for (const backend of ["MongoDB", "DynamoDB"] as const) declareRestarts(backend, () => newServerUrl(backend));
