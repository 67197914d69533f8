import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createStores, type Driver, MemoryDriver } from "../src/driver.ts";
import { createMemoryStores, StoreError } from "../src/index.ts";

const hello = [{ role: "user", content: "Hello" }] as const;

test("a watch of a thread in memory is hinted at each commit and at the deletion, until it ends", async () => {
  const stores = createMemoryStores();
  let [hints, others] = [0, 0];
  const watch = stores.watch("a", () => hints++);
  stores.watch("b", () => others++);
  const store = stores.open("a");
  await store.addMessages([...hello]);
  await store.commit({ metadata: { n: 1 } });
  await stores.deleteThread("a");
  await sleep(0);
  expect([hints, others]).toEqual([3, 0]);
  watch?.[Symbol.dispose]();
  await store.addMessages([...hello]);
  await sleep(0);
  expect(hints).toBe(3);
});

test("nothing is hinted for a commit that was refused", async () => {
  const stores = createMemoryStores();
  let hints = 0;
  stores.watch("a", () => hints++);
  await expect(stores.open("a").addMessages([...hello], { expectedRevision: "x.1" })).rejects.toThrow(
    StoreError,
  );
  await sleep(0);
  expect(hints).toBe(0);
});

test("a hint comes outside the driver's call, and none after the watch ended or the factory closed", async () => {
  let hintDriver = () => {};
  const driver: Driver = Object.assign(new MemoryDriver(), {
    watch: (_: string, onHint: () => void) => {
      hintDriver = onHint;
      return { [Symbol.dispose]() {} };
    },
  });
  const stores = createStores(driver);
  let hints = 0;
  const watch = stores.watch("a", () => hints++);
  hintDriver();
  expect(hints).toBe(0);
  await sleep(0);
  expect(hints).toBe(1);
  hintDriver();
  watch?.[Symbol.dispose]();
  hintDriver();
  await sleep(0);
  expect(hints).toBe(1);
  await stores.close();
  expect(() => stores.watch("a", () => {})).toThrow(expect.objectContaining({ code: "CLOSED" }));
});

test("watch returns undefined for a driver without hints, and refuses wrong arguments", () => {
  const stores = createStores(Object.assign(new MemoryDriver(), { watch: undefined }));
  expect(stores.watch("a", () => {})).toBeUndefined();
  expect(() => stores.watch("", () => {})).toThrow("watch: threadId");
  expect(() => stores.watch("a", 7 as never)).toThrow("watch: onHint");
});
