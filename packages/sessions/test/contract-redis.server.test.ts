import { newServerStores } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { runSessionContract } from "../src/contract/index.ts";
import { harnessOf } from "./harnesses.ts";

runSessionContract({
  name: "Redis",
  createHarness: async () => {
    const openStores = await newServerStores("Redis");
    return harnessOf(openStores);
  },
});
