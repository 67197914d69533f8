import { onEachBackend } from "../../../conformance-tests/test/fixtures/all-backends.ts";
import { declareArtifactTests } from "./artifact-tests.ts";
import { declareServiceTests } from "./service-tests.ts";

onEachBackend(declareServiceTests);
onEachBackend(declareArtifactTests);
