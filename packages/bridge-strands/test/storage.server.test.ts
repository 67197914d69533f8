import { onTwoServers } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareStorageTests } from "./storage-tests.ts";

onTwoServers(declareStorageTests);
