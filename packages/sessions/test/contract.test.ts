import { createMemoryStores } from "@scrollback/store-core";
import { runSessionContract } from "./contract/contract.ts";

// Threads in memory belong to one factory.
runSessionContract("memory", async () => {
  const stores = createMemoryStores();
  return { openStores: () => stores };
});
