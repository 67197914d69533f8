import { onServer } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareRestarts } from "./restarts.ts";

onServer("Redis", declareRestarts);
