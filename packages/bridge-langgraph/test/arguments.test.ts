import { HumanMessage, RemoveMessage } from "@langchain/core/messages";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { ScrollbackChatMessageHistory } from "../src/history/history.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { ScrollbackStore } from "../src/store/store.ts";
import { configOf, listed, metadata } from "./checkpoints.ts";

const config = configOf("t", "1");
const checkpoint = { v: 4, id: "1", ts: "", channel_values: {}, channel_versions: {}, versions_seen: {} };

function open() {
  const watched = new WatchedDriver(new MemoryDriver());
  const stores = createStores(watched);
  return {
    watched,
    saver: new ScrollbackSaver({ stores }),
    store: new ScrollbackStore({ stores }),
    history: new ScrollbackChatMessageHistory({ stores, sessionId: "h" }),
  };
}

/** Arguments of callers without types, and the text that the error message must contain. */
// biome-ignore lint/suspicious/noExplicitAny: JavaScript callers pass values that the types reject.
type Call = (on: any) => unknown;
const calls: readonly (readonly [name: string, named: string, call: Call])[] = [
  ["getTuple(undefined)", "getTuple: config", ({ saver }) => saver.getTuple(undefined)],
  ["getTuple(null)", "getTuple: config", ({ saver }) => saver.getTuple(null)],
  ["getTuple of a string", "getTuple: config", ({ saver }) => saver.getTuple({ configurable: "t" })],
  ["list(null)", "list: config", ({ saver }) => listed(saver.list(null))],
  ["list with options null", "list: options", ({ saver }) => listed(saver.list(config, null))],
  ["list with a filter null", "list: filter", ({ saver }) => listed(saver.list(config, { filter: null }))],
  ["list with a limit x", "list: limit", ({ saver }) => listed(saver.list(config, { limit: "x" }))],
  ["list with a limit 1.5", "list: limit", ({ saver }) => listed(saver.list(config, { limit: 1.5 }))],
  ["list before a string", "list: before", ({ saver }) => listed(saver.list(config, { before: "1" }))],
  ["put(undefined)", "put: config", ({ saver }) => saver.put(undefined, checkpoint, metadata, {})],
  ["put without an id", "put: checkpoint.id", ({ saver }) => saver.put(config, {}, metadata, {})],
  ["putWrites(undefined)", "putWrites: config", ({ saver }) => saver.putWrites(undefined, [], "t")],
  ["putWrites of task 5", "putWrites: taskId", ({ saver }) => saver.putWrites(config, [], 5)],
  ["deleteThread(5)", "deleteThread: threadId", ({ saver }) => saver.deleteThread(5)],
  ["get(undefined)", "get: namespace", ({ store }) => store.get(undefined, "k")],
  ["get of a string", "get: namespace", ({ store }) => store.get("ns", "k")],
  ["get of a key 5", "get: key", ({ store }) => store.get(["a"], 5)],
  ["put of a string", "put: namespace", ({ store }) => store.put("ns", "k", {})],
  ["put of a value 5", "put: value", ({ store }) => store.put(["a"], "k", 5)],
  ["put of a function", "put: value", ({ store }) => store.put(["a"], "k", { f: () => 1 })],
  ["delete of a string", "delete: namespace", ({ store }) => store.delete("ns", "k")],
  ["search(undefined)", "search: namespacePrefix", ({ store }) => store.search(undefined)],
  ["search of a string", "search: namespacePrefix", ({ store }) => store.search("a")],
  ["search with options null", "search: options", ({ store }) => store.search(["a"], null)],
  ["search with a filter null", "search: filter", ({ store }) => store.search(["a"], { filter: null })],
  ["search with a filter 5", "search: filter", ({ store }) => store.search(["a"], { filter: 5 })],
  ["search with a limit x", "search: limit", ({ store }) => store.search(["a"], { limit: "x" })],
  ["search from -1", "search: offset", ({ store }) => store.search(["a"], { offset: -1 })],
  ["listNamespaces(null)", "listNamespaces: options", ({ store }) => store.listNamespaces(null)],
  ["namespaces at a string", "listNamespaces: prefix", ({ store }) => store.listNamespaces({ prefix: "a" })],
  [
    "namespaces of depth -1",
    "listNamespaces: maxDepth",
    ({ store }) => store.listNamespaces({ maxDepth: -1 }),
  ],
  ["addMessages(undefined)", "addMessages: messages ", ({ history }) => history.addMessages(undefined)],
  ["addMessages of [5]", "addMessages: messages[0]", ({ history }) => history.addMessages([5])],
  [
    "addMessages of a plain object",
    "addMessages: messages[1]",
    ({ history }) => history.addMessages([new HumanMessage("x"), { role: "user", content: "x" }]),
  ],
  ["addMessage of a string", "addMessages: messages[0]", ({ history }) => history.addMessage("x")],
  [
    "addMessages of a RemoveMessage",
    "addMessages: messages[0]",
    ({ history }) => history.addMessages([new RemoveMessage({ id: "x" })]),
  ],
];

test.each(calls)(
  "%s fails with INVALID_ARGUMENT, names the argument and sends nothing",
  async (_, named, call) => {
    const on = open();
    const error = await Promise.resolve(call(on)).then(
      () => undefined,
      (cause: unknown) => cause,
    );
    expect(error).toMatchObject({ name: "StoreError", code: "INVALID_ARGUMENT" });
    expect((error as Error).message.startsWith(named), (error as Error).message).toBe(true);
    const { commits, reads, deletions } = on.watched;
    expect([commits, reads, deletions]).toEqual([[], [], []]);
  },
);

test("a stored message that LangChain cannot restore fails with CORRUPT", async () => {
  const stores = createStores(new MemoryDriver());
  const other = new ScrollbackChatMessageHistory({ stores, sessionId: "h" });
  await stores
    .open(other.threadId)
    .addMessages([{ role: "assistant", content: "", metadata: { type: "remove", data: {} } }]);
  await expect(other.getMessages()).rejects.toMatchObject({ code: "CORRUPT" });
});
