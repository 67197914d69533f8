import type { StoreFactory, ThreadPage } from "@scrollback/store-core";
import { createStores, type Driver } from "@scrollback/store-core/driver";
import { expect } from "vitest";
import { carrying, numbered, system, toolCall, toolResult, user } from "../messages/messages.ts";
import { wrapDriver } from "../wrapped-driver.ts";

/** More messages than fit one commit of a copy. */
export const LONG = 1_200;

/** The part of a thread that a copy has too: everything except its revision, cursors, numbers and expiry. */
function contentOf({ entries, count, metadata, createdAt, updatedAt }: ThreadPage) {
  return {
    entries: entries.map((entry) => ({ createdAt: entry.createdAt, message: entry.message })),
    ...{ count, metadata, createdAt, updatedAt },
  };
}

/** Asserts that one thread is a copy of another. */
export async function expectCopy(
  source: StoreFactory,
  from: string,
  target: StoreFactory,
  to: string,
): Promise<void> {
  const [original, copy] = [await source.open(from).read(), await target.open(to).read()];
  expect(contentOf(copy)).toStrictEqual(contentOf(original));
}

/** A thread with times, metadata and messages of several kinds. */
export async function exampleThread(stores: StoreFactory): Promise<string> {
  const store = stores.open();
  await store.addMessages([system("rules"), user("a")], { createdAt: 1_000 });
  await store.addMessages([toolCall("t"), toolResult("t")], { createdAt: 3_000 });
  await store.commit(
    {
      append: [carrying({ at: new Date(0), big: 1n, bytes: new Uint8Array([1, 2]) })],
      metadata: { title: "trams" },
    },
    { createdAt: 2_000 },
  );
  return store.threadId;
}

/** A thread of `count` messages, with a separate time for each batch. */
export async function longThread(stores: StoreFactory, count = LONG): Promise<string> {
  const store = stores.open();
  for (let from = 1; from <= count; from += 100)
    await store.addMessages(numbered(Math.min(100, count - from + 1), "message", from), { createdAt: from });
  await store.commit({ metadata: { title: "long" } }, { createdAt: 5 });
  return store.threadId;
}

/** Stores on a driver with a limit of messages or bytes per commit, so that a copy takes many commits. */
export const storesWithLimits = (driver: Driver, limits: Partial<Driver["capabilities"]>) =>
  createStores(wrapDriver(driver, { capabilities: { ...driver.capabilities, ...limits } }));
