import { createMemoryStores, type MessageStore } from "@scrollback/store-core";
import { beforeEach, expect, test } from "vitest";
import { readHistory } from "../src/thread/thread-store.ts";

let store: MessageStore;
let requests: number;
let commits: number;

/** A store with another writer, which writes to the thread before each request. */
beforeEach(async () => {
  const stores = createMemoryStores();
  const writer = stores.open("t");
  store = stores.open("t");
  requests = 0;
  commits = 0;
  const { read, listMessages } = store;
  const write = async () => {
    requests += 1;
    if (requests > 1_000) throw new Error("this history does not end");
    commits += 1;
    await writer.addMessages([{ role: "user", content: `message ${commits}` }]);
  };
  store.read = async (options) => {
    await write();
    return await read.call(store, options);
  };
  store.listMessages = async (options) => {
    await write();
    return await listMessages.call(store, options);
  };
});

test("a history is read while another writer commits before each request", async () => {
  const { messages, revision } = await readHistory(store, undefined, undefined);
  expect(requests).toBeLessThanOrEqual(8);
  expect(messages.map(({ content }) => content)).toEqual(
    Array.from({ length: messages.length }, (_, index) => `message ${index + 1}`),
  );
  // The messages include all commits up to the revision, or a compare-and-set with the revision fails.
  const stale = store.addMessages([{ role: "user", content: "stale" }], {
    expectedRevision: revision ?? null,
  });
  await expect(stale).rejects.toMatchObject({ code: "CONFLICT" });
});

test("no request follows an abort", async () => {
  const abort = new AbortController();
  const { listMessages } = store;
  store.listMessages = async (options) => {
    const messages = await listMessages.call(store, options);
    abort.abort();
    return messages;
  };
  await expect(readHistory(store, undefined, abort.signal)).rejects.toMatchObject({ code: "ABORTED" });
  expect(requests).toBe(3);
});
