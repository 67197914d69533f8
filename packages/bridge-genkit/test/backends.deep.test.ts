import { onEachBackend } from "../../../conformance-tests/test/fixtures/all-backends.ts";
import { declareGenkitTests } from "./genkit-tests/declare.ts";
import { declareStoreTests } from "./store-tests.ts";

onEachBackend((backend, open, newUrl) => {
  declareGenkitTests(backend, open, newUrl);
  declareStoreTests(backend, open);
});
