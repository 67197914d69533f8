import { InMemoryChatMessageHistory } from "@langchain/core/chat_history";
import {
  AIMessage,
  type BaseMessage,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  type StandardMessageStructure,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { RunnableLambda, RunnableWithMessageHistory } from "@langchain/core/runnables";
import { createMemoryStores } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test, vi } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { ScrollbackChatMessageHistory } from "../src/history/history.ts";
import { threadIds } from "./checkpoints.ts";

const messages: BaseMessage[] = [
  new SystemMessage({ content: "Be brief.", id: "s" }),
  new HumanMessage({
    content: [
      { type: "text", text: "Hi" },
      { type: "image_url", image_url: "https://x.test/a.png" },
    ],
    name: "ada",
  }),
  new AIMessage<StandardMessageStructure>({
    content: "",
    tool_calls: [{ name: "tram", args: { line: 4, when: null }, id: "call", type: "tool_call" }],
    usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
    response_metadata: { model: "m" },
  }),
  new ToolMessage({
    content: "4 min",
    tool_call_id: "call",
    artifact: { raw: [1, { at: new Date(0) }] },
    status: "success",
  }),
  new FunctionMessage({ content: "f", name: "f" }),
  new ChatMessage({ content: "Custom", role: "critic" }),
  new AIMessage({
    content: "In 4 minutes.",
    additional_kwargs: { refusal: undefined, parts: [{ a: undefined }] },
  }),
];

test("messages of every type are read as they were added", async () => {
  const stores = createMemoryStores();
  const history = new ScrollbackChatMessageHistory({ stores, sessionId: "a:b" });
  expect(await history.getMessages()).toEqual([]);
  await history.addMessages(messages);
  await history.addUserMessage("And back?");
  await history.addAIMessage("The same.");
  await history.addMessages([]);
  const read = await new ScrollbackChatMessageHistory({ stores, sessionId: "a:b" }).getMessages();
  const expected = [...messages, new HumanMessage("And back?"), new AIMessage("The same.")];
  expect(read.map((message) => message.constructor)).toEqual(expected.map((message) => message.constructor));
  expect(read.map((message) => message.toJSON())).toEqual(expected.map((message) => message.toJSON()));
  expect(history.threadId).toBe("langchain:a%3Ab");
  // Plain JSON, without the fields that LangChain leaves undefined.
  expect(JSON.stringify(await stores.open(history.threadId).serialize())).not.toContain("undefined");
  await history.clear();
  expect(await history.getMessages()).toEqual([]);
  await stores.deleteThread(history.threadId);
  expect(await threadIds(stores)).toEqual([]);
});

test("a chain with message history has the same output as with LangChain's own history", async () => {
  const stores = createMemoryStores();
  const own = new InMemoryChatMessageHistory();
  const run = async (
    open: (sessionId: string) => InMemoryChatMessageHistory | ScrollbackChatMessageHistory,
  ) => {
    const runnable = RunnableLambda.from(
      (input: BaseMessage[]) => new AIMessage(`${input.length}: ${input.at(-1)?.text}`),
    );
    const chain = new RunnableWithMessageHistory({
      runnable,
      getMessageHistory: (sessionId: string) => open(sessionId),
    });
    const config = { configurable: { sessionId: "ada" } };
    const outputs: unknown[] = [];
    for (const text of ["Hi", "Which tram?"])
      outputs.push((await chain.invoke([new HumanMessage(text)], config)).content);
    return [outputs, (await open("ada").getMessages()).map((message) => message.toJSON())];
  };
  const expected = await run(() => own);
  expect(await run((sessionId) => new ScrollbackChatMessageHistory({ stores, sessionId }))).toEqual(expected);
});

test("a history takes one commit per addition and one read, and is trimmed by turns", async () => {
  const watched = new WatchedDriver(new MemoryDriver());
  const stores = createStores(watched, { maxMessages: 4 });
  const history = new ScrollbackChatMessageHistory({ stores, sessionId: "s" });
  await history.addMessages(messages);
  expect(watched.commits).toHaveLength(1);
  await history.addMessages([
    new HumanMessage("1"),
    new AIMessage("2"),
    new ToolMessage({ content: "3", tool_call_id: "c" }),
  ]);
  const left = await history.getMessages();
  expect(left.map(({ content }) => content)).toEqual(["Be brief.", "1", "2", "3"]);
  expect(watched.reads).toHaveLength(1);
});

test("invalid options are refused", () => {
  const stores = createMemoryStores();
  for (const options of [
    undefined,
    {},
    { stores },
    { sessionId: "s" },
    { stores, sessionId: "" },
    { stores, sessionId: "s", x: 1 },
  ]) {
    expect(() => new ScrollbackChatMessageHistory(options as never)).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
  }
});

test("a history for a model has no result without its call and no call without its result; a warning says so once", async () => {
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  const stores = createMemoryStores();
  const call = (id: string) => ({ name: "tram", args: {}, id, type: "tool_call" as const });
  const result = (id: string) => new ToolMessage({ content: id, tool_call_id: id });
  const uses = (...ids: string[]) => ids.map((id) => ({ type: "tool_use", id, name: "tram", input: {} }));
  for (let round = 0; round < 2; round++) {
    const history = new ScrollbackChatMessageHistory({ stores, sessionId: "s" });
    if (round === 0)
      await history.addMessages([
        ...[result("trimmed"), new HumanMessage("1")],
        new AIMessage({
          content: [{ type: "text", text: "see" }, ...uses("a", "lost")],
          tool_calls: [call("a"), call("lost")],
        }),
        ...[result("a"), new HumanMessage("2"), new AIMessage({ content: "", tool_calls: [call("b")] })],
        ...[new HumanMessage("3"), new AIMessage({ content: "", tool_calls: [call("open")] })],
      ]);
    const read = await history.getMessages();
    expect(read.map(({ type }) => type)).toEqual(["human", "ai", "tool", "human", "human", "ai"]);
    expect(read[1]).toMatchObject({ tool_calls: [{ id: "a" }] });
    expect(read[1]?.content).toEqual([{ type: "text", text: "see" }, ...uses("a")]);
    expect(read[5]).toMatchObject({ tool_calls: [{ id: "open" }] });
  }
  expect(warn).toHaveBeenCalledTimes(1);
  vi.restoreAllMocks();
});
