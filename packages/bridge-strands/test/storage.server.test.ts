import { onServer } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareStorageTests } from "./storage-tests.ts";

onServer("Redis", declareStorageTests);
