import type { StoreFactory } from "@scrollback/store-core";
import { SessionService } from "../src/index.ts";
import type { SessionHarness } from "./contract/contract.ts";

/** A harness whose services have separate clients, as in separate processes. */
export function harnessOf(
  openStores: () => StoreFactory,
  drop: () => unknown = () => undefined,
): SessionHarness {
  const opened: StoreFactory[] = [];
  return {
    connect(options) {
      const stores = openStores();
      opened.push(stores);
      return new SessionService({ stores, ...options });
    },
    async close() {
      await Promise.all(opened.map((stores) => stores.close()));
      await drop();
    },
  };
}
