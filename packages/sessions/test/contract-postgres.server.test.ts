import { newServerStores } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { runSessionContract } from "../src/contract/index.ts";
import { harnessOf } from "./harnesses.ts";

runSessionContract({
  name: "PostgreSQL",
  createHarness: async () => {
    const openStores = await newServerStores("PostgreSQL");
    await using stores = openStores();
    await stores.setup();
    return harnessOf(openStores);
  },
});
