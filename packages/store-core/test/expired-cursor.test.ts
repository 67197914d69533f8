import { expect, test } from "vitest";
import { createStores, type Driver, MemoryDriver } from "../src/driver.ts";
import type { ChatMessage, ThreadPage } from "../src/index.ts";

const messages = (count: number, name: string): ChatMessage[] =>
  Array.from({ length: count }, (_, index) => ({ role: "user", content: `${name} ${index + 1}` }));
const textsOf = (page: ThreadPage) => page.entries.map(({ message }) => message.content);

test("C7 a thread that expires and is created again during a trimmed read is read from its beginning", async () => {
  const driver: Driver = new MemoryDriver();
  const store = createStores(driver).open("t");
  await store.addMessages(messages(9, "old"));
  const trimmed = createStores(driver, { maxMessages: 4 }).open("t");
  const { newer = "" } = await store.read({ limit: 2 });
  const { read } = driver;
  let calls = 0;
  driver.read = async (request) => {
    // Between the first request and the later ones.
    if (++calls === 2) {
      driver.read = read;
      await createStores(driver, { ttlMs: 1 }).open("t").addMessages(messages(1, "last"));
      await new Promise((resolve) => setTimeout(resolve, 5));
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
