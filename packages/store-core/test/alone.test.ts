import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createStores, type Driver, MemoryDriver } from "../src/driver.ts";
import type { ChatMessage, MessageStore, StoreFactory } from "../src/index.ts";

const user = (content: string): ChatMessage => ({ role: "user", content });

/** A factory whose requests take a few milliseconds each, and writers that commit to thread "t" without a pause. */
function busyStores(): { stores: StoreFactory; store: MessageStore; stop: () => Promise<number> } {
  const driver: Driver = new MemoryDriver();
  const { commit, read } = driver;
  driver.commit = async (request) => {
    await sleep(2);
    return await commit.call(driver, request);
  };
  driver.read = async (request) => {
    await sleep(2);
    return await read.call(driver, request);
  };
  const stores = createStores(driver);
  let isOver = false;
  let commits = 0;
  const writers = Array.from({ length: 4 }, async () => {
    const own = stores.open("t");
    for (; !isOver; commits++) await own.addMessages([user("more")]);
  });
  const stop = async () => {
    isOver = true;
    await Promise.all(writers);
    return commits;
  };
  return { stores, store: stores.open("t"), stop };
}

test.each([
  ["popMessage", (store: MessageStore) => store.popMessage()],
  ["expire", (store: MessageStore) => store.expire(60_000)],
])("C4 %s completes soon while four writers of the same factory commit without a pause", async (_, call) => {
  const { store, stop } = busyStores();
  await sleep(20);
  const began = performance.now();
  for (let n = 0; n < 5; n++) await call(store);
  const took = performance.now() - began;
  expect(await stop()).toBeGreaterThan(10);
  expect(took).toBeLessThan(2_000);
});

test("writers continue after an abort of the call that they wait for, and end when the factory closes", async () => {
  const { stores, store, stop } = busyStores();
  await sleep(20);
  const abort = new AbortController();
  const calls = Array.from({ length: 20 }, () => store.expire(60_000, { signal: abort.signal }));
  await sleep(5);
  abort.abort();
  for (const result of await Promise.allSettled(calls))
    expect(result).toMatchObject({ reason: { code: "ABORTED" } });
  await store.addMessages([user("goes on")]);
  await stop();
  await stores.close();
  await expect(store.expire(1_000)).rejects.toMatchObject({ code: "CLOSED" });
});
