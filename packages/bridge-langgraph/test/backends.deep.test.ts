import { onEachBackend } from "../../../conformance-tests/test/fixtures/all-backends.ts";
import { onServer } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareBackendTests } from "./backends.ts";
import { declareVectorTests } from "./vector-tests.ts";

onEachBackend(declareBackendTests);
onServer("PostgreSQL", declareVectorTests);
