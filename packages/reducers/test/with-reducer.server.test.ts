import { onTwoServers } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareReducedStoreTests } from "./reduced-store.ts";

onTwoServers(declareReducedStoreTests);
