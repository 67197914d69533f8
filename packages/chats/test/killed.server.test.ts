import { newServerUrl } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareKilledTest } from "./killed.ts";

declareKilledTest("Redis", () => newServerUrl("Redis"));
