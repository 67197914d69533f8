import { onServer } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareSessionTests } from "./session-tests.ts";

onServer("Redis", declareSessionTests);
