import { onServer } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareReducedStoreTests } from "./reduced-store.ts";

onServer("Redis", declareReducedStoreTests);
