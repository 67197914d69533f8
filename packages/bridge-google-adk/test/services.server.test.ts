import { onServer } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareServiceTests } from "./service-tests.ts";

onServer("Redis", declareServiceTests);
