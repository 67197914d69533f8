import { serverStores } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { runChatContract } from "../src/contract/index.ts";

for (const name of ["MongoDB", "DynamoDB", "PostgreSQL"] as const) {
  const stores = serverStores(name);
  runChatContract({
    name,
    createHarness: async () => ({ openStores: await stores(), close: async () => undefined }),
  });
}
