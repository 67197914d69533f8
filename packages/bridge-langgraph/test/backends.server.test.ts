import { onServer } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareBackendTests } from "./backends.ts";

onServer("Redis", declareBackendTests);
