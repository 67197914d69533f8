import { iterateEntries, rebuildLists } from "@scrollback/collections";
import { createMemoryStores } from "@scrollback/store-core";
import { gzipCodec } from "@scrollback/store-core/codecs";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { expect, test } from "vitest";
import { KeptDriver } from "../../../conformance-tests/test/fixtures/kept-driver.ts";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { ScrollbackStore } from "../src/store/store.ts";
import { isPath, textsAt } from "../src/store/text-at-path.ts";
import { declareVectorTests } from "./vector-tests.ts";
import { WordEmbeddings } from "./word-embeddings.ts";

const driver = new KeptDriver();
declareVectorTests("memory", async () => createStores(driver));

const fields = ["text"];

/** A store on a driver whose requests are counted, and that can die. */
function watchedStore({
  driver = new MemoryDriver(),
  ttlMs,
}: {
  driver?: MemoryDriver;
  ttlMs?: number;
} = {}) {
  const watched = new WatchedDriver(driver);
  const embeddings = new WordEmbeddings();
  const store = new ScrollbackStore({
    stores: createStores(watched),
    index: { dims: 8, embeddings, fields },
    ...(ttlMs !== undefined && { ttlMs }),
  });
  return { driver, watched, embeddings, store };
}

test("after a crash between an update and its entry a search finds the item by its old text, and puts that right", async () => {
  const { driver, watched, store: dying } = watchedStore();
  await dying.put(["a"], "k", { text: "cat" });
  watched.writesLeft = 1;
  await Promise.race([dying.put(["a"], "k", { text: "dog" }), watched.death]);
  const { store, embeddings } = watchedStore({ driver });
  const [old] = await store.search(["a"], { query: "cat" });
  expect(old).toMatchObject({ value: { text: "dog" }, score: expect.closeTo(1, 5) });
  await store.flush();
  expect(embeddings.documents).toEqual(["dog"]);
  const [found] = await store.search(["a"], { query: "dog" });
  expect(found).toMatchObject({ value: { text: "dog" }, score: expect.closeTo(1, 5) });
  expect((await store.search(["a"], { query: "cat" }))[0]?.score).toBeLessThan(0.5);
  await store.flush();
  expect(embeddings.documents).toEqual(["dog"]);
});

test("a read that begins the time of such an item again does not hide that its entry is old", async () => {
  const { driver, watched, store: dying } = watchedStore({ ttlMs: 60_000 });
  await dying.put(["a"], "k", { text: "cat" });
  watched.writesLeft = 1;
  await Promise.race([dying.put(["a"], "k", { text: "dog" }), watched.death]);
  const { store, embeddings } = watchedStore({ driver, ttlMs: 3_600_000 });
  await store.get(["a"], "k");
  await store.flush();
  expect((await store.search(["a"], { query: "dog" }))[0]?.score).toBeCloseTo(1, 5);
  expect(embeddings.documents).toEqual(["dog"]);
});

test("a deletion that dies has removed the vectors before the item", async () => {
  const { driver, watched, store: dying, embeddings } = watchedStore();
  await dying.put(["a"], "k", { text: "cat" });
  const index = createStores(driver).index("langgraph-store:items");
  expect(await index.nearest(embeddings.vectorOf("cat"))).toHaveLength(1);
  watched.writesLeft = 1;
  await Promise.race([dying.delete(["a"], "k"), watched.death]);
  expect(await watchedStore({ driver }).store.get(["a"], "k")).not.toBeNull();
  expect(await index.nearest(embeddings.vectorOf("cat"))).toEqual([]);
});

test("after a crash in a creation the next list makes the item searchable, as after a rebuild of the lists", async () => {
  const { driver, watched, store: dying } = watchedStore();
  watched.writesLeft = 2;
  await Promise.race([dying.put(["a"], "k", { text: "cat" }), watched.death]);
  const { store, embeddings } = watchedStore({ driver });
  expect(await store.search(["a"], { query: "cat" })).toEqual([]);
  expect(await store.search(["a"])).toHaveLength(1);
  await store.flush();
  expect(await store.search(["a"], { query: "cat" })).toHaveLength(1);
  const stores = createStores(driver);
  for await (const { index, entry } of iterateEntries(stores)) {
    const { key, id } = entry;
    await stores.index(index).remove({ key, id });
  }
  expect(await store.search(["a"], { query: "cat" })).toEqual([]);
  await rebuildLists(stores);
  await store.search(["a"]);
  await store.flush();
  expect(await store.search(["a"], { query: "cat" })).toHaveLength(1);
  expect(embeddings.documents).toEqual(["cat", "cat"]);
});

test("the fields that a put gave hold when its entry is made again, and until the next put", async () => {
  const { driver, watched, store: dying } = watchedStore();
  await dying.put(["a"], "k", { text: "cat", title: "dog" });
  watched.writesLeft = 1;
  await Promise.race([dying.put(["a"], "k", { text: "cat", title: "dog" }, ["title"]), watched.death]);
  const { store, embeddings } = watchedStore({ driver });
  await store.search(["a"], { query: "cat" });
  await store.flush();
  expect(embeddings.documents).toEqual(["dog"]);
  await store.put(["a"], "k", { text: "cat", title: "dog" });
  expect((await store.search(["a"], { query: "cat" }))[0]?.score).toBeCloseTo(1, 5);
  const fieldsInRecord = async () => {
    const messages = await createStores(driver).open("langgraph-store:item:a:k").listMessages();
    return JSON.stringify(messages).includes('["title"]');
  };
  expect(await fieldsInRecord()).toBe(false);
  await store.put(["a"], "k", { text: "cat" }, ["title"]);
  expect(await fieldsInRecord()).toBe(true);
});

test("a put with vectors costs one request more, a query one for the entries, and each item a read", async () => {
  const { watched, store, embeddings } = watchedStore();
  const costOf = async (call: () => Promise<unknown>) => {
    watched.reset();
    await call();
    await store.flush();
    const { reads, commits, deletions, entries } = watched;
    return [reads, commits, deletions, entries].map(({ length }) => length);
  };
  expect(await costOf(() => store.put(["a"], "1", { text: "cat" }))).toEqual([1, 1, 0, 2]);
  expect(await costOf(() => store.put(["a"], "1", { text: "dog" }))).toEqual([1, 1, 0, 1]);
  await store.put(["b"], "2", { text: "dog" });
  expect(await costOf(() => store.search(["a"], { query: "dog" }))).toEqual([1, 0, 0, 1]);
  expect(await costOf(() => store.get(["a"], "1"))).toEqual([1, 0, 0, 0]);
  expect(await costOf(() => store.delete(["a"], "1"))).toEqual([1, 0, 1, 2]);
  expect(await store.search(["a"], { query: "dog" })).toEqual([]);
  expect([embeddings.documents.length, embeddings.queries.length]).toEqual([3, 2]);
});

test("searches page through more than a hundred items, also those that a filter leaves out", async () => {
  const { store } = watchedStore();
  for (let n = 0; n < 230; n++) await store.put(["a"], `${n}`, { text: n % 2 ? "cat" : "cat dog", n });
  const all = await store.search(["a"], { query: "cat", limit: 1_000 });
  expect(new Set(all.map(({ key }) => key)).size).toBe(230);
  expect(all.slice(0, 115).every(({ value }) => value.n % 2 === 1)).toBe(true);
  const last = await store.search(["a"], { query: "cat", filter: { n: { $in: [0, 1, 228, 229] } } });
  expect(last.map(({ value }) => value.n)).toEqual([1, 229, 0, 228]);
  expect(await store.search(["a"], { query: "cat", limit: 5, offset: 228 })).toHaveLength(2);
});

test("an item that a search puts right does not move others to a page that was read", async () => {
  const direction = (text: string) => {
    const angle = Number(text) / 200;
    return [Math.cos(angle), Math.sin(angle), 0, 0, 0, 0, 0, 0];
  };
  const { driver, watched, store: dying, embeddings } = watchedStore();
  embeddings.vectorOf = direction;
  for (let n = 0; n < 110; n++) await dying.put(["a"], `${n}`, { text: `${n}`, isWanted: n === 100 });
  watched.writesLeft = 1;
  await Promise.race([dying.put(["a"], "0", { text: "300" }), watched.death]);
  const { store, embeddings: others } = watchedStore({ driver });
  others.vectorOf = direction;
  const found = await store.search(["a"], { query: "0", filter: { isWanted: true } });
  expect(found.map(({ key }) => key)).toEqual(["100"]);
});

test("vectors may be typed arrays, and no score is above 1", async () => {
  const { store, embeddings } = watchedStore();
  let seed = 1;
  const random = () => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  for (let n = 0; n < 50; n++) {
    const vector = Float32Array.from({ length: 8 }, random);
    embeddings.vectorOf = () => vector as never;
    await store.put(["a"], `${n}`, { text: `${n}` });
    const [found] = await store.search(["a"], { query: "x", limit: 1 });
    expect(found?.score).toBeLessThanOrEqual(1);
    expect(found?.score).toBeCloseTo(1, 5);
  }
});

test("embeddings of other dimensions, or without a direction, write nothing; neither does a value without a text", async () => {
  const { watched, store, embeddings } = watchedStore();
  const eight = (value: unknown): unknown[] => Array(8).fill(value);
  for (const vector of [
    [1],
    eight(0),
    eight(Number.NaN),
    [...eight(1).slice(1), null],
    eight("1"),
    undefined,
  ]) {
    embeddings.vectorOf = () => vector as never;
    for (const call of [() => store.put(["a"], "k", { text: "x" }), () => store.search([], { query: "x" })])
      await expect(call()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  }
  embeddings.embedDocuments = async () => [];
  await expect(store.put(["a"], "k", { text: "x" })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await expect(store.put(["a"], "k", { n: 2n }, ["$"])).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  expect([...watched.commits, ...watched.reads, ...watched.entries]).toEqual([]);
  // A value without texts at the fields needs no vectors.
  await store.put(["a"], "k", { n: 2n });
  expect((await store.get(["a"], "k"))?.value).toEqual({ n: 2n });
});

test("where there are no vectors a query is UNSUPPORTED without a request, and everything else works", async () => {
  const watched = new WatchedDriver(new MemoryDriver());
  for (const stores of [
    createSqliteStores({ url: "sqlite::memory:" }),
    createStores(watched, { codec: gzipCodec() }),
  ]) {
    await stores.setup();
    const embeddings = new WordEmbeddings();
    const store = new ScrollbackStore({ stores, index: { dims: 8, embeddings } });
    watched.reset();
    await expect(store.search(["a"], { query: "cat" })).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("PostgreSQL"),
    });
    expect([...watched.reads, ...watched.entries, ...embeddings.queries]).toEqual([]);
    await store.put(["a"], "k", { text: "cat" }, ["text"]);
    await store.put(["a"], "k", { text: "dog" }, false);
    await store.put(["a"], "k", { text: "dog" });
    expect((await store.search(["a"], { query: "" }))[0]?.value).toEqual({ text: "dog" });
    expect(embeddings.documents).toEqual([]);
    await store.flush();
    await stores.close();
  }
});

test("the texts at paths", () => {
  const value = { a: "x", b: { c: 1, "d e": true }, all: [{ t: "1" }, { t: "2" }, "3"], none: null };
  const texts: Record<string, string[]> = {
    $: [JSON.stringify(value, null, 2)],
    a: ["x"],
    "b.c": ["1"],
    "b.d e": ["true"],
    b: [JSON.stringify(value.b, null, 2)],
    "all[*].t": ["1", "2"],
    "all[0].t": ["1"],
    "all[-1]": ["3"],
    "all[9]": [],
    "a[0]": [],
    none: [],
    "a.toString": [],
    constructor: [],
  };
  for (const [path, expected] of Object.entries(texts)) {
    expect(isPath(path), path).toBe(true);
    expect(textsAt(value, path), path).toEqual(expected);
  }
  expect(textsAt([["x"], "y"], "[0][0]")).toEqual(["x"]);
  for (const path of ["", ".a", "a.", "a[", "a[x]", "*", "{a,b}", 1])
    expect(isPath(path), `${path}`).toBe(false);
});

test("the option index is checked", () => {
  const stores = createMemoryStores();
  const embeddings = new WordEmbeddings();
  for (const index of [
    { embeddings },
    { dims: 0, embeddings },
    { dims: 1.5, embeddings },
    { dims: 16_001, embeddings },
    { dims: 8 },
    { dims: 8, embeddings: {} },
    { dims: 8, embeddings, fields: "text" },
    { dims: 8, embeddings, fields: [1] },
    { dims: 8, embeddings, fields: ["{title,text}"] },
    8,
  ])
    expect(() => new ScrollbackStore({ stores, index: index as never })).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
});
