import { onLocalBackends } from "../../../conformance-tests/test/fixtures/all-backends.ts";
import { declareGenkitTests } from "./genkit-tests/declare.ts";

onLocalBackends(declareGenkitTests);
