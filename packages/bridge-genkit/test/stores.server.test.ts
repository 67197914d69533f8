import { onServer } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareGenkitTests } from "./genkit-tests/declare.ts";
import { declareStoreTests } from "./store-tests.ts";

onServer("Redis", declareStoreTests);
onServer("Redis", declareGenkitTests);
