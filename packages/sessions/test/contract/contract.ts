import { randomUUID } from "node:crypto";
import type { StoreFactory } from "@scrollback/store-core";
import { afterEach, beforeEach, describe, test } from "vitest";
import { SessionService } from "../../src/index.ts";
import { appending } from "./appending.ts";
import { creating } from "./creating.ts";
import { getting } from "./getting.ts";
import { listing } from "./listing.ts";
import { scoping } from "./scoping.ts";
import { sharing } from "./sharing.ts";
import { updating } from "./updating.ts";
import type { Declare, Trial } from "./values.ts";

/**
 * Declares the contract of sessions for stores. `openStores` opens a client on unused storage; `drop` removes the storage.
 *
 * @param unmet the title of a test that the page of the backend says is not met.
 */
export function runSessionContract(
  name: string,
  createStorage: () => Promise<{ openStores: () => StoreFactory; drop?: () => unknown }>,
  unmet?: string,
): void {
  describe(`sessions on ${name}`, { timeout: 60_000 }, () => {
    let storage: Awaited<ReturnType<typeof createStorage>>;
    let opened: StoreFactory[];
    beforeEach(async () => {
      storage = await createStorage();
      opened = [];
    }, 180_000);
    afterEach(async () => {
      await Promise.all(opened.map((stores) => stores.close()));
      await storage.drop?.();
    }, 60_000);
    const connect: Trial["connect"] = (options) => {
      const stores = storage.openStores();
      opened.push(stores);
      return new SessionService({ stores, ...options });
    };
    const promise: Declare = (title, run) =>
      test.skipIf(title === unmet)(title, () =>
        run({ sessions: connect(), appName: `app-${randomUUID()}`, userId: "ada", connect }),
      );
    for (const declare of [creating, getting, appending, updating, scoping, listing, sharing])
      declare(promise);
  });
}
