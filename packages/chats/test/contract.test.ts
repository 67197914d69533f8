import { createStores } from "@scrollback/store-core/driver";
import { KeptDriver } from "../../../conformance-tests/test/fixtures/kept-driver.ts";
import { runChatContract } from "./contract/index.ts";

runChatContract({
  name: "memory",
  createHarness: async () => {
    const driver = new KeptDriver();
    return { openStores: () => createStores(driver), close: async () => undefined };
  },
});
