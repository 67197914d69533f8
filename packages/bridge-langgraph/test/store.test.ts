import { Annotation, getStore, START, StateGraph } from "@langchain/langgraph";
import { InMemoryStore, InvalidNamespaceError, type SearchItem } from "@langchain/langgraph-checkpoint";
import { createMemoryStores } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import fc from "fast-check";
import { expect, test } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { ScrollbackStore } from "../src/store/store.ts";
import { threadIds } from "./checkpoints.ts";
import { shown, toShown } from "./shown.ts";

const namespace = fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 });
const key = fc.constantFrom("k", "l", "a:b", "a", "__proto__", "é/*");
const value = fc.dictionary(
  fc.constantFrom("kind", "n", "note"),
  fc.oneof(fc.integer({ min: 0, max: 3 }), fc.string()),
);
const operand = fc.integer({ min: 0, max: 3 });
const filter = fc.oneof(
  fc.constant(undefined),
  fc.record({ n: operand }),
  fc
    .constantFrom("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")
    .chain((name) => operand.map((n) => ({ n: { [name]: n } }))),
  fc.array(operand, { maxLength: 2 }).map((all) => ({ n: { $in: all }, kind: { $nin: all } })),
);
const path = fc.array(fc.constantFrom("a", "b", "*"), { maxLength: 2 });

const command = fc.oneof(
  fc.record({ kind: fc.constant("put" as const), namespace, key, value }),
  fc.record({ kind: fc.constant("delete" as const), namespace, key }),
  fc.record({ kind: fc.constant("reopen" as const) }),
);

/** LangGraph's own store with the items of another one in our order. It lists a namespace also when its items are deleted; this one has none. */
async function inOrder(own: InMemoryStore): Promise<InMemoryStore> {
  const bytes = ({ namespace, key }: SearchItem) => Buffer.from(`${namespace.join(".")}..${key}`);
  const items = await own.search([], { limit: 100 });
  const sorted = new InMemoryStore();
  for (const item of items.sort((one, other) => Buffer.compare(bytes(one), bytes(other))))
    await sorted.put(item.namespace, item.key, item.value);
  return sorted;
}

const page = fc.record({ limit: fc.integer({ min: 0, max: 6 }), offset: fc.integer({ min: 0, max: 6 }) });

test("a store has the same content as LangGraph's own after any sequence of calls", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(command, { maxLength: 30 }),
      fc.array(fc.tuple(fc.array(fc.constantFrom("a", "b"), { maxLength: 2 }), filter, page), {
        maxLength: 4,
      }),
      fc.array(fc.tuple(path, path, fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined })), {
        maxLength: 4,
      }),
      async (commands, searches, lists) => {
        const own = new InMemoryStore();
        const stores = createMemoryStores();
        let store = new ScrollbackStore({ stores });
        for (const one of commands) {
          if (one.kind === "reopen") store = new ScrollbackStore({ stores });
          else if (one.kind === "put") {
            for (const each of [own, store]) await each.put(one.namespace, one.key, one.value);
          } else for (const each of [own, store]) await each.delete(one.namespace, one.key);
        }
        for (const one of commands) {
          if (!("key" in one)) continue;
          const expected = await own.get(one.namespace, one.key);
          const read = await store.get(one.namespace, one.key);
          expect(read && shown([read])).toEqual(expected && shown([expected]));
        }
        const sorted = await inOrder(own);
        const whole = { limit: 100, offset: 0 };
        for (const [prefix, wanted, part] of [[[], undefined, whole] as const, ...searches]) {
          const options = { ...part, ...(wanted && { filter: wanted }) };
          // LangGraph's own mixes the namespaces below a prefix in the order of their creation: that of the sorted items.
          const expected = (await sorted.search([...prefix], options)).map(toShown);
          expect((await store.search([...prefix], options)).map(toShown)).toEqual(expected);
        }
        for (const [prefix, suffix, maxDepth] of [[[], [], undefined] as const, ...lists]) {
          const options = {
            prefix: [...prefix],
            suffix: [...suffix],
            ...(maxDepth !== undefined && { maxDepth }),
          };
          const expected = await sorted.listNamespaces(options);
          expect((await store.listNamespaces(options)).sort()).toEqual(expected.sort());
        }
      },
    ),
    { numRuns: 200 },
  );
});

test("an item keeps its creation time, and is a copy", async () => {
  const store = new ScrollbackStore({ stores: createMemoryStores() });
  const before = Date.now();
  await store.put(["a"], "k", { n: 1, at: new Date(5), all: new Map([[1, 2]]) });
  const first = await store.get(["a"], "k");
  if (first) first.value.n = 9;
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(await store.get(["a"], "k")).toMatchObject({
    value: { n: 1, at: new Date(5), all: new Map([[1, 2]]) },
  });
  await store.put(["a"], "k", { n: 2 });
  const second = await store.get(["a"], "k");
  expect(second).toMatchObject({ value: { n: 2 }, key: "k", namespace: ["a"], createdAt: first?.createdAt });
  expect(second?.createdAt.getTime()).toBeGreaterThanOrEqual(before);
  expect(second?.updatedAt.getTime()).toBeGreaterThan(Number(first?.updatedAt));
});

test("a batch reads before it writes, and the last write of an item is stored", async () => {
  const store = new ScrollbackStore({ stores: createMemoryStores() });
  await store.put(["a"], "k", { n: 1 });
  const results = await store.batch([
    { namespace: ["a"], key: "k", value: { n: 2 } },
    { namespace: ["a"], key: "k" },
    { namespace: ["a"], key: "k", value: { n: 3 } },
    { namespacePrefix: ["a"] },
    { namespace: ["a"], key: "gone" },
    { limit: 10, offset: 0 },
  ]);
  expect(results[1]).toMatchObject({ value: { n: 1 } });
  expect(results[3]).toMatchObject([{ value: { n: 1 } }]);
  expect(results[4]).toBeNull();
  expect(results[5]).toEqual([["a"]]);
  expect((await store.get(["a"], "k"))?.value).toEqual({ n: 3 });
});

test("processes that put and delete the same items read the same values, and lists match the items", async () => {
  const stores = createMemoryStores();
  const all = Array.from({ length: 4 }, () => new ScrollbackStore({ stores }));
  await Promise.all(
    all.map(async (store, which) => {
      for (let n = 0; n < 30; n++) {
        const name = `${(n * (which + 1)) % 7}`;
        if ((n + which) % 3 === 0) await store.delete(["a"], name);
        else await store.put(["a"], name, { which, n });
      }
    }),
  );
  const [reader = new ScrollbackStore({ stores })] = all;
  const found = await reader.search(["a"], { limit: 100 });
  const read = await Promise.all(Array.from({ length: 7 }, (_, n) => reader.get(["a"], `${n}`)));
  expect(shown(found)).toEqual(shown(read.filter((item) => item !== null)));
  for (const { key: name } of found) await reader.delete(["a"], name);
  for (const store of all) await store.flush();
  expect(await reader.search([])).toEqual([]);
  expect((await threadIds(stores)).filter((id) => id.startsWith("langgraph-store:item:"))).toEqual([]);
});

test("an item deleted during its update is created again, and listed", async () => {
  const driver = new MemoryDriver();
  const watched = new WatchedDriver(driver);
  const store = new ScrollbackStore({ stores: createStores(watched) });
  const other = new ScrollbackStore({ stores: createStores(driver) });
  await store.put(["a"], "k", { n: 1 });
  await store.flush();
  watched.beforeCommit = () => other.delete(["a"], "k");
  await store.put(["a"], "k", { n: 2 });
  for (const one of [store, other]) expect(shown(await one.search(["a"]))).toEqual(['[["a"],"k",{"n":2}]']);
});

test("vector search fails with UNSUPPORTED; invalid names are refused before any request", async () => {
  const watched = new WatchedDriver(new MemoryDriver());
  const store = new ScrollbackStore({ stores: createStores(watched) });
  await expect(store.search(["a"], { query: "trams" })).rejects.toMatchObject({ code: "UNSUPPORTED" });
  await expect(store.put(["a"], "k", { n: 1 }, ["n"])).rejects.toMatchObject({ code: "UNSUPPORTED" });
  const invalid = [[], [""], ["a.b"], ["a:b"], ["a\0"]];
  for (const one of invalid) await expect(store.put(one, "k", {})).rejects.toThrow(InvalidNamespaceError);
  await expect(store.put(["langgraph"], "k", {})).rejects.toThrow(InvalidNamespaceError);
  for (const bad of ["", "\uD800", "x".repeat(1_024)])
    await expect(store.put(["a"], bad, {})).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await expect(store.batch([{ namespace: ["a"], key: "k", value: 1 as never }])).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
  expect([...watched.commits, ...watched.reads]).toEqual([]);
  await store.put(["a"], "k", { n: 1 }, false);
  expect((await store.get(["a"], "k"))?.value).toEqual({ n: 1 });
  for (const options of [
    undefined,
    {},
    { stores: createMemoryStores(), ttlMs: 0 },
    { stores: createMemoryStores({ maxMessages: 1 }) },
  ])
    expect(() => new ScrollbackStore(options as never)).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
});

test("a graph remembers across threads", async () => {
  const stores = createMemoryStores();
  const State = Annotation.Root({ name: Annotation<string>, known: Annotation<unknown[]> });
  const graph = () =>
    new StateGraph(State)
      .addNode("remember", async ({ name }) => {
        const store = getStore();
        const known = (await store?.search(["people"]))?.map(({ key }) => key);
        await store?.put(["people"], name, { name });
        return { known: known ?? [] };
      })
      .addEdge(START, "remember")
      .compile({ checkpointer: new ScrollbackSaver({ stores }), store: new ScrollbackStore({ stores }) });
  await graph().invoke({ name: "ada" }, { configurable: { thread_id: "1" } });
  const second = await graph().invoke({ name: "bob" }, { configurable: { thread_id: "2" } });
  expect(second.known).toEqual(["ada"]);
});
