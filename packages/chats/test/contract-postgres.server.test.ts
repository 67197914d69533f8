import { newServerStores } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { runChatContract } from "../src/contract/index.ts";

runChatContract({
  name: "PostgreSQL",
  createHarness: async () => {
    const openStores = await newServerStores("PostgreSQL");
    await using stores = openStores();
    await stores.setup();
    return { openStores, close: async () => undefined };
  },
});
