import { createStores } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { DocumentDriver, MemoryDocuments } from "../src/index.ts";
import { gated, type Verb } from "./harness.ts";

const user = (content: string) => ({ role: "user", content }) as const;
const many = (count: number) => Array.from({ length: count }, (_, index) => user(`message ${index}`));

function counted(memory = new MemoryDocuments()) {
  const sent: Verb[] = [];
  const driver = new DocumentDriver(gated(memory, (verb) => sent.push(verb)));
  const stores = createStores(driver);
  /** The requests that a call sends. */
  const requestsOf = async (call: () => Promise<unknown>) => {
    sent.length = 0;
    await call();
    return [...sent];
  };
  return { memory, stores, store: stores.open("t"), requestsOf };
}

test("a commit is one request, and two with an overflow, about one in 32", async () => {
  const { store, requestsOf } = counted();
  expect(await requestsOf(() => store.addMessages([user("first")])), "a new thread").toEqual([
    "load",
    "swap",
  ]);
  const costs: string[] = [];
  for (let commit = 0; commit < 320; commit++)
    costs.push((await requestsOf(() => store.addMessages([user("next")]))).join());
  expect(new Set(costs)).toEqual(new Set(["swap", "write,swap"]));
  expect(costs.filter((cost) => cost === "write,swap").length).toBeLessThanOrEqual(10);
});

test("a commit to a thread that is unknown to the process is two requests", async () => {
  const { memory, store } = counted();
  for (let commit = 0; commit < 100; commit++) await store.addMessages([user("a")]);
  const other = counted(memory);
  expect(await other.requestsOf(() => other.store.addMessages([user("b")]))).toEqual(["load", "swap"]);
  expect(await other.requestsOf(() => other.store.addMessages([user("c")]))).toEqual(["swap"]);
  // The first process finds that it is not the only one.
  const { requestsOf } = counted(memory);
  expect(await requestsOf(() => store.addMessages([user("d")]))).toEqual([]);
});

test("the newest 20 messages are one request, all of 1,000 are two", async () => {
  const { store, requestsOf } = counted();
  for (let commit = 0; commit < 50; commit++) await store.addMessages(many(20));
  for (let commit = 0; commit < 40; commit++) {
    await store.addMessages([user("a")]);
    expect(await requestsOf(() => store.listMessages({ limit: 20 }))).toEqual(["load"]);
  }
  expect(await requestsOf(() => store.listMessages())).toEqual(["load", "read"]);
  expect(await store.listMessages()).toHaveLength(1_040);
});

test("the deletion of a short thread is three requests", async () => {
  const { stores, store, requestsOf } = counted();
  await store.addMessages(many(10));
  expect(await requestsOf(() => stores.deleteThread("t"))).toEqual(["load", "keys", "swap"]);
  await store.addMessages(many(100));
  expect(await requestsOf(() => stores.deleteThread("t"))).toEqual(["load", "keys", "swap", "remove"]);
  expect(await requestsOf(() => stores.deleteThread("another"))).toEqual(["load", "keys"]);
});

test("appends of one process that wait for each other share a request, and each has its revision", async () => {
  const { store, requestsOf } = counted();
  await store.addMessages([user("first")]);
  const revisions = new Set<string | null>();
  const requests = await requestsOf(async () => {
    const added = Array.from({ length: 33 }, (_, index) => store.addMessages([user(`${index}`)]));
    for (const revision of await Promise.all(added)) revisions.add(revision);
  });
  expect(requests).toEqual(["swap", "swap"]);
  expect(revisions.size).toBe(33);
  expect((await store.listMessages()).slice(1).map(({ content }) => content)).toEqual(
    many(33).map((_, i) => `${i}`),
  );
});

test("a trimmed thread sends few more requests than commits, and none for kinds", async () => {
  const { stores, requestsOf } = counted();
  const store = stores.open("t", { maxMessages: 500 });
  await store.addMessages(many(500));
  const requests = await requestsOf(async () => {
    for (let commit = 0; commit < 320; commit++) await store.addMessages([user("a")]);
  });
  expect(requests.filter((verb) => verb === "swap")).toHaveLength(320);
  expect(requests.length).toBeLessThanOrEqual(320 * 1.2);
});

test("the head of a long thread stays small: its pages are merged", async () => {
  const { memory, store, requestsOf } = counted();
  let most = 0;
  for (let commit = 0; commit < 250; commit++) {
    most = Math.max(most, (await requestsOf(() => store.addMessages(many(40)))).length);
    const { head } = memory.documentsOf("t");
    if (head && typeof head !== "string") expect(head.pages.length).toBeLessThanOrEqual(65);
  }
  // It reads the old pages, writes the merged one, commits, and removes the old ones.
  expect(most).toBe(4);
  const { head, pages } = memory.documentsOf("t");
  expect(JSON.stringify(head).length).toBeLessThan(40_000);
  expect(pages.size).toBe(head && typeof head !== "string" ? head.pages.length : 0);
  expect((await store.listMessages()).map(({ content }) => content)).toEqual(
    Array.from({ length: 250 }, () => many(40).map(({ content }) => content)).flat(),
  );
});
