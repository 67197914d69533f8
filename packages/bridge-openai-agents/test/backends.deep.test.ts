import { onEachBackend } from "../../../conformance-tests/test/fixtures/all-backends.ts";
import { declareSessionTests } from "./session-tests.ts";

onEachBackend(declareSessionTests);
