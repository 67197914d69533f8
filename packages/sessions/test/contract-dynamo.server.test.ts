import { newServerStores } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { runSessionContract } from "../src/contract/index.ts";
import { harnessOf } from "./harnesses.ts";

runSessionContract({
  name: "DynamoDB",
  createHarness: async () => {
    const openStores = await newServerStores("DynamoDB");
    await using stores = openStores();
    await stores.setup();
    return harnessOf(openStores);
  },
});
