import { serverStores } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { runChatContract } from "./contract/index.ts";

for (const name of ["MongoDB", "DynamoDB"] as const) {
  const stores = serverStores(name);
  runChatContract({
    name,
    createHarness: async () => ({ openStores: await stores(), close: async () => undefined }),
  });
}
