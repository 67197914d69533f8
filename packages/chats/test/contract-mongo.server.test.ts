import { newServerStores } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { runChatContract } from "../src/contract/index.ts";

runChatContract({
  name: "MongoDB",
  createHarness: async () => {
    const openStores = await newServerStores("MongoDB");
    return { openStores, close: async () => undefined };
  },
});
