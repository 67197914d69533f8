import { createMemoryStores } from "@scrollback/store-core";
import { blobThreads } from "../../../collections/src/lists/blob-threads.ts";
import { runBlobContract } from "./contract.ts";

runBlobContract("the message store", async () => {
  const stores = createMemoryStores();
  return {
    storage: blobThreads(stores),
    options: { stores },
    async count() {
      let found = 0;
      for await (const { count } of stores.iterateThreads({ prefix: "scrollback:content:" }))
        if (count > 0) found++;
      return found;
    },
  };
});
