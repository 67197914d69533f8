import { onMemory } from "../../../conformance-tests/test/fixtures/all-backends.ts";
import { declareChatTests } from "./chat-tests.ts";

onMemory(declareChatTests);
