import { newServerUrl } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareRestarts } from "./restarts.ts";

declareRestarts("Redis", () => newServerUrl("Redis"));
