import { Annotation, START, StateGraph } from "@langchain/langgraph";
import type { BaseStore } from "@langchain/langgraph-checkpoint";
import { createMemoryStores } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { ScrollbackStore } from "../src/store/store.ts";

/** Runs each call in a node of its own, all at once, and returns the code of its error or "done". */
async function runNodes(
  store: ScrollbackStore,
  calls: Record<string, (store: BaseStore) => Promise<unknown>>,
) {
  const outcomes: Record<string, string> = {};
  const State = Annotation.Root({ done: Annotation<boolean> });
  const builder = new StateGraph(State) as StateGraph<typeof State.spec, unknown, unknown, string>;
  for (const [name, call] of Object.entries(calls)) {
    builder.addNode(name, async (_, config) => {
      outcomes[name] = await call(config.store as BaseStore).then(
        () => "done",
        (error) => error.code ?? error.name,
      );
      return {};
    });
    builder.addEdge(START, name);
  }
  await builder.compile({ store }).invoke({});
  return outcomes;
}

test("an operation that is refused does not fail those of other nodes", async () => {
  const store = new ScrollbackStore({ stores: createMemoryStores() });
  const outcomes = await runNodes(store, {
    query: (one) => one.search(["ada"], { query: "likes" }),
    save: (one) => one.put(["ada"], "city", { name: "Rome" }),
    unstorable: (one) => one.put(["ada"], "run", { run: () => 1 }),
    "too long": (one) => one.get(["ada"], "x".repeat(2_000)),
    again: (one) => one.put(["ada"], "trams", { count: 6 }),
    search: (one) => one.search(["ada"]),
  });
  expect(outcomes).toEqual({
    query: "UNSUPPORTED",
    save: "done",
    unstorable: "INVALID_ARGUMENT",
    "too long": "INVALID_ARGUMENT",
    again: "done",
    search: "done",
  });
  const found = await store.search(["ada"]);
  expect(found.map(({ key }) => key).sort()).toEqual(["city", "trams"]);
});

test("a write that fails in the backend does not fail those of other nodes", async () => {
  const watched = new WatchedDriver(new MemoryDriver());
  const store = new ScrollbackStore({ stores: createStores(watched) });
  await store.put(["ada"], "city", { name: "Rome" });
  await store.put(["ada"], "trams", { count: 6 });
  watched.beforeCommit = () => {
    throw new Error("no space left");
  };
  const outcomes = await runNodes(store, {
    first: (one) => one.put(["ada"], "city", { name: "Oslo" }),
    second: (one) => one.put(["ada"], "trams", { count: 7 }),
  });
  expect(Object.values(outcomes).sort()).toEqual(["UNAVAILABLE", "done"]);
});

test("a batch runs the other operations before it rejects with the first error", async () => {
  const store = new ScrollbackStore({ stores: createMemoryStores() });
  const batch = store.batch([
    { namespace: ["a"], key: "k", value: { n: 1 } },
    { namespacePrefix: ["a"], query: "likes" },
    // The last valid write of an item is stored.
    { namespace: ["a"], key: "k", value: { n: () => 2 } },
  ]);
  await expect(batch).rejects.toMatchObject({ code: "UNSUPPORTED" });
  expect((await store.get(["a"], "k"))?.value).toEqual({ n: 1 });
});
