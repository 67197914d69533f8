import { onServer } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareStreamTests } from "./stream-delays.ts";

onServer("Redis", declareStreamTests);
