import { onLocalBackends } from "../../../conformance-tests/test/fixtures/all-backends.ts";
import { declareStoreTests } from "./store-tests.ts";

onLocalBackends(declareStoreTests);
