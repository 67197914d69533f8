import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { emptyCheckpoint, JsonPlusSerializer } from "@langchain/langgraph-checkpoint";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { configOf, metadata, putValues, valuesOf } from "./checkpoints.ts";

const failing = () => {
  throw new Error("not now");
};
let deep: unknown;
for (let depth = 0; depth < 100_000; depth++) deep = { deep };

/** Values that LangGraph's serializer cannot serialize: it replaces most of them by a sentence. */
const values: Record<string, unknown> = {
  "a BigInt": 1n,
  "a BigInt in a Map": new Map([["id", 1n]]),
  "a BigInt in an artifact": [
    new AIMessage("Hello"),
    new ToolMessage({ content: "ok", tool_call_id: "1", artifact: { orderId: 9_007_199_254_740_993n } }),
  ],
  "a throwing toJSON": { when: { toJSON: failing } },
  "a throwing getter": Object.defineProperty({}, "when", { get: failing, enumerable: true }),
  "an object that is nested too deeply": deep,
};
/** Values of which JSON makes nothing. Inside of others, as in metadata, LangGraph leaves them out. */
const nothing = { "a function": () => 1, "a symbol": Symbol("1") };

test.for(Object.entries<unknown>({ ...values, ...nothing }))(
  "%s in a channel is refused, and nothing is written",
  async ([, value]) => {
    const watched = new WatchedDriver(new MemoryDriver());
    const saver = new ScrollbackSaver({ stores: createStores(watched) });
    const root = await putValues(saver, configOf(), "1", { messages: ["Hi"] });
    const before = watched.commits.length;
    const refused = { code: "INVALID_ARGUMENT", message: expect.stringContaining('channel "messages"') };
    await expect(putValues(saver, root, "2", { messages: value }, { messages: 2 })).rejects.toMatchObject(
      refused,
    );
    await expect(saver.putWrites(root, [["messages", value]], "task")).rejects.toMatchObject(refused);
    expect(watched.commits).toHaveLength(before);
    expect(await valuesOf(saver, configOf())).toEqual({ messages: ["Hi"] });
  },
);

test("a BigInt in metadata is refused, and nothing is written", async () => {
  const watched = new WatchedDriver(new MemoryDriver());
  const saver = new ScrollbackSaver({ stores: createStores(watched) });
  const root = await putValues(saver, configOf(), "1", { messages: ["Hi"] });
  const before = watched.commits.length;
  const checkpoint = { ...emptyCheckpoint(), id: "2" };
  await expect(saver.put(root, checkpoint, { ...metadata, custom: 1n } as never, {})).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining("put: metadata"),
  });
  expect(watched.commits).toHaveLength(before);
  expect(await valuesOf(saver, configOf())).toEqual({ messages: ["Hi"] });
});

test("a text is stored, also the one that the serializer writes for values that it cannot serialize", async () => {
  const saver = new ScrollbackSaver({ stores: createStores(new MemoryDriver()) });
  const [, bytes] = await new JsonPlusSerializer().dumpsTyped(1n);
  const text = JSON.parse(new TextDecoder().decode(bytes));
  const root = await putValues(saver, configOf(), "1", { text });
  expect(await valuesOf(saver, root)).toEqual({ text });
});

test("an error of another serializer is passed on", async () => {
  const serde = { dumpsTyped: () => Promise.reject(new Error("no key")), loadsTyped: failing };
  const saver = new ScrollbackSaver({ stores: createStores(new MemoryDriver()), serde });
  await expect(putValues(saver, configOf(), "1", { a: 1 })).rejects.toThrow(/^no key$/);
});
