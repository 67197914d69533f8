import { onEachServer } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareSessionTests } from "./session-tests.ts";

onEachServer(declareSessionTests);
