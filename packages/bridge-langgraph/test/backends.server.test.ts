import { onTwoServers } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareBackendTests } from "./backends.ts";

onTwoServers(declareBackendTests);
