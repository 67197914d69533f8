import { setTimeout as sleep } from "node:timers/promises";
import { createMemoryStores } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { ScrollbackSessionStore } from "../src/index.ts";
import { snapshotOf } from "./snapshots.ts";

test.each<[string, () => void]>([
  [
    "throws",
    () => {
      throw new Error("boom");
    },
  ],
  ["rejects late", (async () => Promise.reject(await sleep(1, new Error("boom")))) as never],
])("a callback that %s fails no save: onError receives the error, and may fail too", async (_, callback) => {
  const errors: unknown[] = [];
  const store = new ScrollbackSessionStore({
    stores: createMemoryStores(),
    onError(error) {
      errors.push(error);
      throw error;
    },
  });
  const end = store.onSnapshotStateChange("one", callback);
  expect(await store.saveSnapshot("one", () => snapshotOf("one"))).toBe("one");
  await expect.poll(() => errors.length).toBeGreaterThan(0);
  expect(errors[0]).toMatchObject({ message: "boom" });
  end();
});
