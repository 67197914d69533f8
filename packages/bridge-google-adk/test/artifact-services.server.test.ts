import { onServer } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareArtifactTests } from "./artifact-tests.ts";

onServer("Redis", declareArtifactTests);
onServer("PostgreSQL", declareArtifactTests);
