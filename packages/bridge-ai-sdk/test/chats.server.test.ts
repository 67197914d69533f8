import { onTwoServers } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareChatTests } from "./chat-tests.ts";

onTwoServers(declareChatTests);
