import { newServerStores } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareBackendTests } from "./backends.ts";

declareBackendTests("MongoDB", () => newServerStores("MongoDB"));
