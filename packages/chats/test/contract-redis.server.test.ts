import { newServerStores } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { runChatContract } from "../src/contract/index.ts";

runChatContract({
  name: "Redis",
  createHarness: async () => {
    const openStores = await newServerStores("Redis");
    return { openStores, close: async () => undefined };
  },
});
