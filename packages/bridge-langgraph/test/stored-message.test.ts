import { Document } from "@langchain/core/documents";
import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  type ContentBlock,
  HumanMessage,
  type StandardMessageStructure,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { createMemoryStores } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { ScrollbackChatMessageHistory } from "../src/history/history.ts";

const text: ContentBlock.Standard = { type: "text", text: "Hi" };
const image: ContentBlock.Standard = { type: "image", url: "https://x.test/a.png" };
const call: ContentBlock.Standard = { type: "tool_call", id: "1", name: "tram", args: { line: 4 } };
const reasoning: ContentBlock.Standard = { type: "reasoning", reasoning: "Think." };

async function readBack(message: BaseMessage) {
  const history = new ScrollbackChatMessageHistory({ stores: createMemoryStores(), sessionId: "s" });
  await history.addMessages([message]);
  const [read] = await history.getMessages();
  return read;
}

test.for<[string, () => BaseMessage]>([
  ["human", () => new HumanMessage({ contentBlocks: [text, image] })],
  ["system", () => new SystemMessage({ contentBlocks: [text] })],
  ["ai", () => new AIMessage({ contentBlocks: [reasoning, text, call] })],
  ["ai, with calls apart", () => new AIMessage({ contentBlocks: [text], tool_calls: [call as never] })],
  [
    "ai, with output_version",
    () => new AIMessage({ content: [text], response_metadata: { output_version: "v1" } as never }),
  ],
  ["tool", () => new ToolMessage({ contentBlocks: [text, image], tool_call_id: "1" })],
])("content blocks of a message are read as they were given: %s", async ([, create]) => {
  const given = create();
  const read = await readBack(given);
  expect(read?.contentBlocks).toEqual(create().contentBlocks);
  expect(read?.contentBlocks.length).toBeGreaterThan(0);
  expect(read?.content).toEqual(create().content);
  expect((read as AIMessage).tool_calls).toEqual((given as AIMessage).tool_calls);
  // The given message has not changed.
  expect(given).toEqual(create());
});

test("a streamed answer is read as the whole answer", async () => {
  const first = new AIMessageChunk({
    content: "Hi",
    tool_call_chunks: [{ id: "1", name: "tram", args: "{" }],
  });
  const answer = first.concat(new AIMessageChunk({ content: " you", tool_call_chunks: [{ args: "}" }] }));
  const read = (await readBack(answer)) as AIMessage;
  expect([read.constructor, read.content, read.tool_calls]).toEqual([AIMessage, "Hi you", answer.tool_calls]);
});

test("an artifact keeps its Dates, Maps, BigInts and bytes, and objects with LangChain's key", async () => {
  const artifact = {
    at: new Date(0),
    lines: new Map([[4, new Set(["a"])]]),
    ...{ id: 9_007_199_254_740_993n, bytes: Uint8Array.of(1, 2), page: new URL("https://x.test/") },
    lc: 1,
  };
  const read = (await readBack(
    new ToolMessage({ content: "ok", tool_call_id: "1", artifact }),
  )) as ToolMessage;
  expect(read.artifact).toEqual(artifact);
});

test("documents in an artifact become plain objects", async () => {
  const fields = { pageContent: "Line 4", metadata: { page: 1, read: new Date(0) } };
  const artifact = [new Document(fields)];
  const read = (await readBack(
    new ToolMessage({ content: "ok", tool_call_id: "1", artifact }),
  )) as ToolMessage;
  expect(read.artifact).toEqual([fields]);
});

test("a field that was changed after the construction is stored", async () => {
  const answer = new AIMessage<StandardMessageStructure>("Hi");
  answer.id = "1";
  answer.usage_metadata = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
  const read = (await readBack(answer)) as AIMessage;
  expect([read.id, read.usage_metadata]).toEqual(["1", answer.usage_metadata]);
});

class Socket {
  readonly #port = 1;
  get port() {
    return this.#port;
  }
}
const cycle: Record<string, unknown> = {};
cycle.self = cycle;

test.for<[string, unknown]>([
  ["a function", { run: () => 1 }],
  ["an object without fields", new Socket()],
  ["a cycle", cycle],
])("an artifact with %s is refused, and nothing is written", async ([, artifact]) => {
  const history = new ScrollbackChatMessageHistory({ stores: createMemoryStores(), sessionId: "s" });
  const messages = [new HumanMessage("Hi"), new ToolMessage({ content: "", tool_call_id: "1", artifact })];
  await expect(history.addMessages(messages)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(await history.getMessages()).toEqual([]);
});

test("a streamed answer in content blocks may have a text or calls outside of them", async () => {
  const response_metadata = { output_version: "v1" } as never;
  const answer = new AIMessageChunk({
    content: "Hi",
    tool_call_chunks: [{ id: "1", name: "tram", args: '{"line":4}' }],
    response_metadata,
  });
  const read = (await readBack(answer)) as AIMessage;
  expect(read.contentBlocks).toEqual([text, call]);
  expect(read.tool_calls).toEqual(answer.tool_calls);
});

test("a message that LangChain restores differently is refused", async () => {
  const answer = new AIMessage("Hi");
  answer.content = null as never;
  await expect(readBack(answer)).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining("messages[0]: content"),
  });
});
