import { serverStores } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { runChatContract } from "./contract/index.ts";

const stores = serverStores("Redis");
runChatContract({
  name: "Redis",
  createHarness: async () => ({ openStores: await stores(), close: async () => undefined }),
});
