import { createMemoryStores, type MessageStore, StoreError } from "@scrollback/store-core";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { expect, test, vi } from "vitest";
import { type ChatReducer, withReducer } from "../src/index.ts";
import { user } from "./messages.ts";
import { declareReducedStoreTests } from "./reduced-store.ts";
import { refusal } from "./rejection.ts";

declareReducedStoreTests("memory", () => createMemoryStores());
declareReducedStoreTests("SQLite", () => createSqliteStores({ url: "sqlite::memory:" }));

const firstOnly: ChatReducer = { reduce: async (messages) => messages.slice(0, 1) };

test("after 100 attempts in vain it is CONFLICT, and nothing is lost", async () => {
  const stores = createMemoryStores();
  const store = stores.open("busy");
  await store.addMessages([user("1"), user("2")]);
  let runs = 0;
  const interrupted: ChatReducer = {
    async reduce(messages) {
      runs++;
      await stores.open("busy").addMessages([user("more")]);
      return messages.slice(0, 1);
    },
  };
  // The pauses between attempts grow to a second; they are not what is tested.
  const random = vi.spyOn(Math, "random").mockReturnValue(0);
  try {
    const reduced = withReducer(store, interrupted, { when: "beforeList" });
    await refusal(() => reduced.listMessages(), "CONFLICT");
  } finally {
    random.mockRestore();
  }
  expect(runs).toBe(101);
  expect(await store.listMessages()).toHaveLength(2 + 101);
});

test("a write-back that is refused leaves the history, and rejects the list", async () => {
  const store = createMemoryStores().open();
  await store.addMessages([user("1"), user("2")]);
  const refusing = new Proxy(store, {
    get: (target, name) => {
      if (name === "replaceMessages") return () => Promise.reject(new StoreError("TOO_LARGE", "too large"));
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  await refusal(() => withReducer(refusing, firstOnly, { when: "beforeList" }).listMessages(), "TOO_LARGE");
  expect(await store.listMessages()).toHaveLength(2);
});

test("a store's own trimming goes on beside a reducer", async () => {
  const store = createMemoryStores({ maxMessages: 3 }).open();
  const growing: ChatReducer = { reduce: async (messages) => [...messages, user("again")] };
  const reduced = withReducer(store, growing, { when: "afterAdd" });
  await reduced.addMessages([user("1"), user("2"), user("3")]);
  expect((await store.listMessages()).map(({ content }) => content)).toEqual(["2", "3", "again"]);
});

test("a store of another message type takes a reducer of that type", async () => {
  interface Line {
    from: "bot" | "human";
    text: string;
  }
  const stores = createMemoryStores<Line>({
    traits: {
      role: ({ from }) => (from === "bot" ? "assistant" : "user"),
      toolCalls: () => [],
      toolResults: () => [],
    },
  });
  const newest: ChatReducer<Line> = { reduce: async (lines) => lines.slice(-1) };
  const store: MessageStore<Line> = withReducer(stores.open(), newest, { when: "afterAdd" });
  await store.addMessages([
    { from: "human", text: "1" },
    { from: "bot", text: "2" },
  ]);
  expect(await store.listMessages()).toEqual([{ from: "bot", text: "2" }]);
});
