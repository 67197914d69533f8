import { beforeEach, describe, expect, test } from "vitest";
import { createStores, type Driver, MemoryDriver } from "../src/driver.ts";
import type { ChatMessage, MessageStore } from "../src/index.ts";

const LENGTH = 40;
const user = (content: string): ChatMessage => ({ role: "user", content });
const textsOf = (messages: readonly ChatMessage[]) => messages.map(({ content }) => content);

let driver: Driver;
let writer: MessageStore;
let requests: number;
let beforeRequest: () => Promise<unknown>;

beforeEach(async () => {
  driver = new MemoryDriver();
  writer = createStores(driver).open("t");
  const texts = Array.from({ length: LENGTH }, (_, index) => user(`message ${index + 1}`));
  await writer.addMessages([{ role: "system", content: "rules" }, ...texts]);
  requests = 0;
  beforeRequest = async () => {};
  const { read } = driver;
  driver.read = async (request) => {
    requests += 1;
    if (requests > 1_000) throw new Error("this read does not end");
    await beforeRequest();
    return await read.call(driver, request);
  };
});

describe.each([
  ["listMessages()", (store: MessageStore) => store.listMessages()],
  ["listMessages({ limit: 3 })", (store: MessageStore) => store.listMessages({ limit: 3 })],
  [
    "read({ limit: 3 })",
    async (store: MessageStore) => (await store.read({ limit: 3 })).entries.map(({ message }) => message),
  ],
] as const)("C6 %s of a store whose maxMessages is below the thread's length", (name, list) => {
  const wanted = name === "listMessages()" ? 5 : 3;

  test("ends while another writer commits before each request", async () => {
    let commits = 0;
    beforeRequest = () => writer.addMessages([user(`later ${++commits}`)]);
    const texts = textsOf(await list(createStores(driver, { maxMessages: 5 }).open("t")));
    expect(requests).toBeLessThanOrEqual(8);
    // One revision: the newest messages without a gap; a read of all five also includes the pinned system message.
    const newest = texts.slice(wanted === 5 ? 1 : 0);
    const last = Number(newest.at(-1)?.slice("later ".length));
    const all = [
      ...Array.from({ length: LENGTH }, (_, index) => `message ${index + 1}`),
      ...Array.from({ length: last }, (_, index) => `later ${index + 1}`),
    ];
    expect(newest).toEqual(all.slice(-newest.length));
    expect(texts.length).toBe(wanted);
    expect(texts[0]).toBe(wanted === 5 ? "rules" : newest[0]);
  });

  test("makes no request after an abort", async () => {
    const abort = new AbortController();
    let commits = 0;
    beforeRequest = async () => {
      await writer.addMessages([user(`later ${++commits}`)]);
      await new Promise((resolve) => setTimeout(resolve, 5));
    };
    const store = createStores(driver, { maxMessages: 5 }).open("t");
    const reading =
      name === "read({ limit: 3 })"
        ? store.read({ limit: 3, signal: abort.signal })
        : store.listMessages({ ...(wanted === 3 && { limit: 3 }), signal: abort.signal });
    setTimeout(() => abort.abort(), 2);
    await expect(reading).rejects.toMatchObject({ code: "ABORTED" });
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(requests).toBe(1);
  });

  test("makes the minimum number of requests without concurrent writers", async () => {
    await list(createStores(driver, { maxMessages: 5 }).open("t"));
    expect(requests).toBe(wanted === 5 ? 1 : 3);
    requests = 0;
    const exact = createStores(driver, { maxMessages: 5, trimming: "exact" }).open("t");
    expect(textsOf(await list(exact)).at(-1)).toBe(`message ${LENGTH}`);
    expect(requests).toBe(wanted === 5 ? 1 : 2);
  });
});
