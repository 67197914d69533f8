import { createMemoryStores } from "@scrollback/store-core";
import { runSessionContract } from "./contract/index.ts";
import { harnessOf } from "./harnesses.ts";

runSessionContract({
  name: "memory",
  // Threads in memory belong to one factory.
  createHarness: async () => {
    const stores = createMemoryStores();
    return harnessOf(() => stores);
  },
});
