import { onEachBackend } from "../../../conformance-tests/test/fixtures/all-backends.ts";
import { declareServiceTests } from "./service-tests.ts";

onEachBackend(declareServiceTests);
