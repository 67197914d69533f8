import { onTwoServers } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareSessionTests } from "./session-tests.ts";

onTwoServers(declareSessionTests);
