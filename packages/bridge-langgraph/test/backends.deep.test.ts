import { onEachBackend } from "../../../conformance-tests/test/fixtures/all-backends.ts";
import { declareBackendTests } from "./backends.ts";

onEachBackend(declareBackendTests);
