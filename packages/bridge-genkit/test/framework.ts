import { frameworkOf } from "../../../conformance-tests/test/fixtures/framework-tests.ts";

/** What this bridge is for, at the version that its tests run with. */
export const framework = frameworkOf("Genkit", "@genkit-ai/ai", import.meta.url);
