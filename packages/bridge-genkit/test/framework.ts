import { frameworkOf } from "../../../conformance-tests/test/fixtures/framework-tests.ts";

/** The framework of this bridge, at the version of its tests. */
export const framework = frameworkOf("Genkit", "@genkit-ai/ai", import.meta.url);
