import { frameworkOf } from "../../../conformance-tests/test/fixtures/framework-tests.ts";

/** What this bridge is for, at the version that its tests run with. */
export const framework = frameworkOf("OpenAI Agents SDK", "@openai/agents-core", import.meta.url);
