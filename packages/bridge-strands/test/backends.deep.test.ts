import { onEachBackend } from "../../../conformance-tests/test/fixtures/all-backends.ts";
import { declareStorageTests } from "./storage-tests.ts";

onEachBackend(declareStorageTests);
