import { onServer } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareStoreTests } from "./store-tests.ts";

onServer("Redis", declareStoreTests);
