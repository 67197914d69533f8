import type { StoreError } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { describe, expect, test } from "vitest";
import { rejection } from "../../../conformance-tests/src/checks/errors.ts";
import { DocumentDriver, type Head, MemoryDocuments } from "../src/index.ts";

const user = (content: string) => ({ role: "user", content }) as const;
const many = (count: number) => Array.from({ length: count }, (_, index) => user(`message ${index + 1}`));

/** A thread of 300 messages with several pages. */
async function thread() {
  const memory = new MemoryDocuments();
  const stores = createStores(new DocumentDriver(memory));
  const store = stores.open("t");
  for (let from = 0; from < 300; from += 50) await store.addMessages(many(300).slice(from, from + 50));
  const documents = memory.documentsOf("t");
  const head = documents.head as Head;
  expect(head.pages.length).toBeGreaterThan(3);
  const reported: StoreError[] = [];
  const onCorruptRecord = (error: StoreError) => reported.push(error);
  const tolerant = createStores(new DocumentDriver(memory), { onCorruptRecord });
  return { stores, store, documents, head, reported, tolerant };
}

describe("C16 a page that was removed by hand", () => {
  test("is damaged messages with their numbers; all others are read", async () => {
    const { store, documents, head, reported, tolerant } = await thread();
    const [, { id, from, upto } = { id: "", from: 0, upto: 0 }] = head.pages;
    documents.pages.delete(id);
    expect((await rejection(store.listMessages(), "CORRUPT")).sequence).toBe(from);
    expect(await store.listMessages({ limit: 20 })).toHaveLength(20);
    expect(await tolerant.open("t").listMessages()).toEqual(
      many(300).filter((_, index) => index + 1 < from || index + 1 >= upto),
    );
    expect(reported.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: upto - from }, (_, index) => from + index),
    );
  });

  test("can be dropped, trimmed and cleared; writes go on", async () => {
    const { stores, store, documents, head } = await thread();
    for (const { id } of head.pages) documents.pages.delete(id);
    await store.addMessages([user("more")]);
    const kept = head.tail.length + 1;
    // Into the middle of the last page, and of the first one.
    await store.commit({ drop: kept + 1, append: [user("after")] });
    expect((await rejection(store.listMessages({ limit: 2 }), "CORRUPT")).sequence).toBeLessThan(300);
    await stores.open("t", { maxMessages: 30 }).commit({ metadata: "title" });
    expect((await store.read({ limit: 1 })).count).toBe(30);
    await stores.open("t", { maxMessages: 1 }).commit({ metadata: "title" });
    expect(await store.listMessages()).toEqual([user("after")]);
    await store.clear();
    await store.addMessages([user("new")]);
    expect(await store.listMessages()).toEqual([user("new")]);
    expect(documents.pages.size).toBe(0);
  });

  test("with the metadata makes the metadata corrupt, until it is set again", async () => {
    const { store, documents } = await thread();
    await store.commit({ metadata: "m".repeat(20_000) });
    const head = documents.head as Head;
    documents.pages.delete(head.metadata && "page" in head.metadata ? head.metadata.page : "");
    await rejection(store.read({ limit: 0 }), "CORRUPT");
    await store.commit({ metadata: "title" });
    expect((await store.read({ limit: 0 })).metadata).toBe("title");
  });
});

test("C16 a thread whose head was removed by hand begins again, and its deletion removes all pages", async () => {
  const { stores, store, documents } = await thread();
  documents.head = null;
  expect(await store.listMessages()).toEqual([]);
  await store.addMessages([user("new")], { expectedRevision: null });
  expect(await store.listMessages()).toEqual([user("new")]);
  expect(documents.pages.size).toBeGreaterThan(0);
  await stores.deleteThread("t");
  expect(documents.pages.size).toBe(0);
  documents.pages.set("x", { id: "x", messages: [] });
  documents.head = null;
  await stores.deleteThread("t");
  expect(documents.pages.size).toBe(0);
});

test("C16 a damaged head is CORRUPT to every call and listed as such; the thread can be deleted", async () => {
  const { stores, store, documents, reported, tolerant } = await thread();
  documents.head = "damaged";
  for (const call of [() => store.listMessages(), () => store.addMessages([user("a")]), () => store.clear()])
    await rejection(call(), "CORRUPT");
  await rejection(stores.deleteThread("t", { expectedRevision: null }), "CORRUPT");
  expect((await tolerant.listThreads()).threads).toEqual([]);
  expect(reported.map(({ threadId }) => threadId)).toEqual(["t"]);
  await stores.deleteThread("t");
  expect(documents.pages.size).toBe(0);
  await store.addMessages([user("new")]);
  expect(await store.listMessages()).toEqual([user("new")]);
});
