import { beforeEach, expect, test } from "vitest";
import { createStores, type Driver, MemoryDriver } from "../src/driver.ts";
import type { ChatMessage, MessageStore, ThreadPage } from "../src/index.ts";

const messages = (count: number, name: string): ChatMessage[] =>
  Array.from({ length: count }, (_, index) => ({ role: "user", content: `${name} ${index + 1}` }));
const textsOf = (page: ThreadPage) => page.entries.map(({ message }) => message.content);

let driver: Driver;
let store: MessageStore;
let cursors: { older: string; newer: string };

/** Lets the thread expire. */
async function expire(): Promise<void> {
  await createStores(driver, { ttlMs: 1 }).open("t").addMessages(messages(1, "last"));
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect((await store.read()).revision).toBeNull();
}

beforeEach(async () => {
  driver = new MemoryDriver();
  store = createStores(driver).open("t");
  await store.addMessages(messages(8, "old"));
  const { older = "", newer = "" } = await store.read({ limit: 2 });
  cursors = { older, newer };
  await expire();
  await store.addMessages(messages(9, "new"));
});

const all = messages(9, "new").map(({ content }) => content);

test.each(["older", "newer"] as const)(
  "C7 before the %s cursor of an expired thread: an empty page at the beginning",
  async (name) => {
    for (const limit of [undefined, 0, 3]) {
      const page = await store.read({ before: cursors[name], ...(limit !== undefined && { limit }) });
      expect(textsOf(page)).toEqual([]);
      expect("older" in page).toBe(false);
      expect(textsOf(await store.read({ after: page.newer ?? "" }))).toEqual(all);
    }
  },
);

test.each(["older", "newer"] as const)(
  "C7 after the %s cursor of an expired thread: the thread from its beginning",
  async (name) => {
    expect(textsOf(await store.read({ after: cursors[name] }))).toEqual(all);
    const few = await store.read({ after: cursors[name], limit: 4 });
    expect(textsOf(few)).toEqual(all.slice(0, 4));
    expect("older" in few).toBe(false);
    expect(textsOf(await store.read({ after: few.newer ?? "" }))).toEqual(all.slice(4));
    const none = await store.read({ after: cursors[name], limit: 0 });
    expect(textsOf(none)).toEqual([]);
    expect("older" in none).toBe(false);
    expect(textsOf(await store.read({ after: none.newer ?? "" }))).toEqual(all);
  },
);

test("C7 a thread that expires and is created again during a trimmed read is read from its beginning", async () => {
  const trimmed = createStores(driver, { maxMessages: 4 }).open("t");
  const { newer = "" } = await store.read({ limit: 2 });
  const { read } = driver;
  let calls = 0;
  driver.read = async (request) => {
    // Between the first request and the later ones.
    if (++calls === 2) {
      driver.read = read;
      await expire();
      await store.addMessages(messages(6, "newest"));
    }
    return await read.call(driver, request);
  };
  expect(textsOf(await trimmed.read({ after: newer }))).toEqual([
    "newest 3",
    "newest 4",
    "newest 5",
    "newest 6",
  ]);
});
