import { onEachBackend } from "../../../conformance-tests/test/fixtures/all-backends.ts";
import { declareRestarts } from "./restarts.ts";

onEachBackend(declareRestarts);
