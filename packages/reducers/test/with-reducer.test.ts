import { createMemoryStores, type MessageStore, StoreError } from "@scrollback/store-core";
import { expect, test, vi } from "vitest";
import { type ChatReducer, withReducer } from "../src/index.ts";
import { user } from "./messages.ts";
import { declareReducedStoreTests } from "./reduced-store.ts";
import { refusal } from "./rejection.ts";

declareReducedStoreTests("memory", () => createMemoryStores());

const firstOnly: ChatReducer = { reduce: async (messages) => messages.slice(0, 1) };

test("after 100 failed attempts it rejects with CONFLICT, and nothing is lost", async () => {
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
  // The pauses between attempts grow to 1 second. This test does not need them.
  const random = vi.spyOn(Math, "random").mockReturnValue(0);
  try {
    const reduced = withReducer(store, interrupted, { when: "beforeList" });
    await refusal(() => reduced.listMessages(), "CONFLICT");
  } finally {
    random.mockRestore();
  }
  expect(runs).toBe(100);
  expect(await store.listMessages()).toHaveLength(2 + 100);
});

/** A store that records the names of its calls; some of its methods may be replaced. */
function watched(store: MessageStore, others: Partial<MessageStore> = {}) {
  const calls: string[] = [];
  const proxy = new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(others, name) ?? Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        calls.push(String(name));
        return value.apply(target, args);
      };
    },
  });
  return { store: proxy, calls };
}

test("a list takes a read, and a commit if something changed", async () => {
  const { store, calls } = watched(createMemoryStores().open());
  const reduced = withReducer(store, firstOnly, { when: "beforeList" });
  await reduced.addMessages([user("1"), user("2")]);
  await reduced.listMessages();
  await reduced.listMessages({ limit: 1 });
  expect(calls).toEqual(["addMessages", "read", "replaceMessages", "read"]);
});

test("an add takes one more read, and a commit if something changed", async () => {
  const { store, calls } = watched(createMemoryStores().open());
  const reduced = withReducer(store, firstOnly, { when: "afterAdd" });
  await reduced.addMessages([user("1")]);
  await reduced.addMessages([user("2")]);
  await reduced.listMessages();
  expect(calls).toEqual(["addMessages", "read", "addMessages", "read", "replaceMessages", "listMessages"]);
});

test("a rejected write-back leaves the history unchanged and rejects the list", async () => {
  const inner = createMemoryStores().open();
  await inner.addMessages([user("1"), user("2")]);
  const replaceMessages = () => Promise.reject(new StoreError("TOO_LARGE", "too large"));
  const { store } = watched(inner, { replaceMessages });
  await refusal(() => withReducer(store, firstOnly, { when: "beforeList" }).listMessages(), "TOO_LARGE");
  expect(await inner.listMessages()).toHaveLength(2);
});

test("a store's own trimming works together with a reducer", async () => {
  const store = createMemoryStores({ maxMessages: 3 }).open();
  const growing: ChatReducer = { reduce: async (messages) => [...messages, user("again")] };
  const reduced = withReducer(store, growing, { when: "afterAdd" });
  await reduced.addMessages([user("1"), user("2"), user("3")]);
  expect((await store.listMessages()).map(({ content }) => content)).toEqual(["2", "3", "again"]);
});

test("a store of another message type accepts a reducer of that type", async () => {
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

test.each(["beforeList", "afterAdd"] as const)(
  "listMessages (%s) gives no tool result without its call, and reports it once",
  async (when) => {
    const errors: unknown[] = [];
    const store = createMemoryStores().open("t");
    const call = { type: "tool-call" as const, toolCallId: "a", toolName: "look", input: {} };
    const result = (toolCallId: string) => ({
      role: "tool" as const,
      content: [{ type: "tool-result" as const, toolCallId, toolName: "look", output: 1 }],
    });
    const kept = [user("1"), { role: "assistant" as const, content: [call] }, result("a")];
    const all: ChatReducer = { reduce: async (messages) => [...messages] };
    const reduced = withReducer(store, all, { when, onError: (error) => void errors.push(error) });
    await reduced.addMessages([result("cut"), ...kept]);
    for (let round = 0; round < 2; round++) expect(await reduced.listMessages()).toEqual(kept);
    expect(await reduced.listMessages({ limit: 1 })).toEqual([]);
    expect(await store.listMessages()).toHaveLength(4);
    expect(errors).toMatchObject([
      { code: "INVALID_STATE", message: expect.stringContaining("the result cut (thread t)") },
    ]);
  },
);
