import { onServer } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareChatTests } from "./chat-tests.ts";

onServer("Redis", declareChatTests);
