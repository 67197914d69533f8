import { ChatStore } from "@scrollback/chats";
import { createMemoryStores } from "@scrollback/store-core";
import { convertToModelMessages, generateText, type UIMessage } from "ai";
import { expect, test } from "vitest";
import { createChatHandler, uiMessages } from "../src/index.ts";
import { anthropicBlocks, openaiItems, type Script, scriptedProvider } from "./providers.ts";
import { scriptedTools } from "./scripted-model.ts";
import { user } from "./serve.ts";

const tools = scriptedTools({ deleted: [] });
const { begin, end, reasoning, text, call, search } = openaiItems;
const [thinks, thought] = reasoning("rs_1", 0);
const [says, said] = text("msg_1", 1, "some words");
const [thinks2, thought2] = reasoning("rs_2", 0);
const blocks = anthropicBlocks;
const [ponders, pondered] = blocks.thinking(0);
const [utters, uttered] = blocks.text(1, "some words");

/** Sends `q1`, stops the answer if it hangs, sends `q2`, and returns the second turn's request and the chat. */
async function secondRequest(provider: "openai" | "anthropic", ...scripts: Script[]) {
  const { model, bodies, hanging } = scriptedProvider(provider, scripts);
  const chats = new ChatStore<UIMessage>({ stores: createMemoryStores(), ...uiMessages({ tools }) });
  const mine = chats.of("ada");
  const errors: unknown[] = [];
  const chat = createChatHandler({ chats, model, tools, onError: (error) => void errors.push(error) });
  const post = async (id: string) => {
    const body = JSON.stringify({ id: "c", message: user(id) });
    return await chat.fetch(new Request("http://h/api/chat", { method: "POST", body }), { owner: "ada" });
  };
  const first = (await post("q1")).text();
  if (scripts.some((script) => script.includes("hang"))) {
    await hanging;
    // The events before are handled in microtasks.
    await new Promise((resolve) => setImmediate(resolve));
    await chat.stop("c", { owner: "ada" });
  }
  await first;
  const before = bodies.length;
  const page = await mine.read("c");
  await (await post("q2")).text();
  await chat.close();
  expect(bodies).toHaveLength(before + 1);
  const messages = page?.entries.map(({ message }) => message) ?? [];
  const body = bodies.at(-1) as { input: Item[]; messages: { role: string; content: Block[] }[] };
  return { body, messages, model, bodies, status: page?.entries.at(-1)?.status };
}

type Item = { readonly type?: string; readonly role?: string; readonly id?: string } & Record<
  string,
  unknown
>;
type Block = { readonly type: string } & Record<string, unknown>;
/** What follows the first question. */
const answerOf = (input: readonly Item[]) => input.slice(1, -1);
const plainWords = { role: "assistant", content: "some words" };
const q = (id: string) => ({ role: "user", content: [{ type: "input_text", text: id }] });

test.each<[name: string, script: Script, sent: object[]]>([
  ["stopped in its text", [begin, ...thinks, thought, ...says, "hang"], [plainWords]],
  ["failed in its text", [begin, ...thinks, thought, ...says, "break"], [plainWords]],
  ["stopped after its text", [begin, ...thinks, thought, ...says, said, "hang"], [plainWords]],
  ["stopped in its reasoning", [begin, ...thinks, "hang"], []],
  ["failed after its reasoning", [begin, ...thinks, thought, "break"], []],
  ["stopped after a search", [begin, ...search("ws_1", 0), "hang"], []],
  ["stopped in the text after a search", [begin, ...search("ws_1", 0), ...says, "hang"], [plainWords]],
])(
  "OpenAI: an answer that was %s is sent without ids of items that OpenAI does not have",
  async (_, script, sent) => {
    const { body, status } = await secondRequest("openai", script);
    expect(["stopped", "failed"]).toContain(status);
    expect(body.input).toEqual([q("q1"), ...sent, q("q2")]);
  },
);

test("OpenAI: an answer whose stream ended early, without an error, is sent without ids of items", async () => {
  const { body } = await secondRequest("openai", [begin, ...thinks, thought, ...says, said]);
  expect(answerOf(body.input)).toEqual([plainWords]);
});

test("OpenAI: an answer that was stopped in its second step keeps the items of the first", async () => {
  const first = [begin, ...thinks, thought, ...call("fc_1", 1, "lookUp", { word: "x" }), end];
  const { body } = await secondRequest("openai", first, [begin, ...thinks2, thought2, ...says, "hang"]);
  expect(answerOf(body.input)).toMatchObject([
    { type: "item_reference", id: "rs_1" },
    { type: "function_call", call_id: "call_fc_1" },
    { type: "function_call_output", call_id: "call_fc_1" },
    plainWords,
  ]);
});

test("OpenAI: a call that waits for an approval is left out with its reasoning when the user goes on", async () => {
  const ask = call("fc_2", 2, "deleteFile", { path: "a" });
  const alone = [begin, ...thinks, thought, ...ask, end];
  expect(answerOf((await secondRequest("openai", alone)).body.input)).toEqual([]);
  const later = reasoning("rs_2", 1);
  const mixed = [begin, ...thinks, thought, ...ask, ...later[0], later[1], ...says, said, end];
  expect(answerOf((await secondRequest("openai", mixed)).body.input)).toEqual([
    { type: "item_reference", id: "rs_2" },
    { type: "item_reference", id: "msg_1" },
  ]);
  const parallel = [begin, ...thinks, thought, ...call("fc_1", 1, "lookUp", { word: "x" }), ...ask, end];
  expect(answerOf((await secondRequest("openai", parallel)).body.input)).toMatchObject([
    { type: "item_reference", id: "rs_1" },
    { type: "function_call", call_id: "call_fc_1" },
    { type: "function_call_output", call_id: "call_fc_1" },
  ]);
});

test.each([
  ["openai", [begin, ...thinks, thought, ...says, said, end]],
  [
    "anthropic",
    [blocks.begin, ...ponders, ...pondered, ...utters, ...uttered, ...blocks.text(2, "")[0], ...blocks.end],
  ],
] as const)("%s: a whole answer is sent as the SDK sends it", async (name, script) => {
  const { body, messages, model, bodies } = await secondRequest(name, script);
  const prompt = await convertToModelMessages([...messages, user("q2")]);
  await generateText({ model, tools, messages: prompt, maxRetries: 0 }).catch(() => undefined);
  const plain = bodies.at(-1) as typeof body;
  expect(JSON.stringify(body.input ?? body.messages)).toBe(JSON.stringify(plain.input ?? plain.messages));
  expect(JSON.stringify(body)).toMatch(/rs_1|signed/);
});

test.each<[name: string, script: Script, sent: string[]]>([
  ["stopped in its thinking", [blocks.begin, ...ponders, "hang"], []],
  ["stopped after its thinking", [blocks.begin, ...ponders, ...pondered, "hang"], []],
  ["stopped in its text", [blocks.begin, ...ponders, ...pondered, ...utters, "hang"], ["thinking", "text"]],
  ["stopped before its text", [blocks.begin, ...ponders, ...pondered, ...blocks.text(1, "")[0], "hang"], []],
  [
    "left waiting for an approval",
    [
      blocks.begin,
      ...ponders,
      ...pondered,
      ...blocks.call("t1", 1, "deleteFile", { path: "a" }),
      ...blocks.end,
    ],
    [],
  ],
])("Anthropic: an answer that was %s has no thinking alone and no empty message", async (_, script, sent) => {
  const { body } = await secondRequest("anthropic", script);
  const answers = body.messages.filter(({ role }) => role === "assistant");
  expect(answers.map(({ content }) => content.map(({ type }) => type))).toEqual(
    sent.length > 0 ? [sent] : [],
  );
  expect(body.messages.every(({ content }) => content.length > 0)).toBe(true);
});

test("what a provider refuses in any text, id or input is changed in the history that it gets", async () => {
  const step = { type: "step-start" };
  const called = (toolCallId: string, fields: object) => ({
    ...{ type: "dynamic-tool", toolName: "get it", toolCallId, state: "output-available", input: { a: 1 } },
    ...fields,
  });
  const made = {
    id: "a1",
    role: "assistant",
    parts: [
      step,
      called("functions.get:0", { output: "lone \uD800" }),
      ...[step, called("functions.get:0", { state: "output-error", input: "{bad", errorText: "not JSON" })],
      ...[step, { type: "text", text: " ", providerMetadata: { openai: { itemId: "msg_1" } } }],
    ],
  } as unknown as UIMessage;
  for (const name of ["openai", "anthropic"] as const) {
    const { model, bodies } = scriptedProvider(name, []);
    const chats = new ChatStore<UIMessage>({ stores: createMemoryStores(), ...uiMessages({ tools }) });
    const mine = chats.of("ada");
    await mine.create({ id: "c", messages: [user("q1", "lone \uDC00"), made] });
    const errors: unknown[] = [];
    const chat = createChatHandler({ chats, model, tools, onError: (error) => void errors.push(error) });
    const body = JSON.stringify({ id: "c", message: user("q2") });
    await (
      await chat.fetch(new Request("http://h/api/chat", { method: "POST", body }), { owner: "ada" })
    ).text();
    const sent = JSON.stringify(bodies.at(-1)?.input ?? bodies.at(-1)?.messages);
    expect(errors).toEqual([]);
    expect(sent).not.toMatch(/\\ud800|\\udc00|functions\.get|get it|msg_1/);
    const ids = [...sent.matchAll(/"(?:call_id|tool_use_id|id)":"(call_[^"]*)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(2);
    expect(ids).toHaveLength(4);
    if (name === "anthropic") expect(sent).toContain('"input":{"input":"{bad"}');
    expect((await mine.read("c"))?.entries[1]?.message).toEqual(made);
  }
});

test("a call that is left out because it has no result is reported once a chat", async () => {
  const chats = new ChatStore<UIMessage>({ stores: createMemoryStores(), ...uiMessages({ tools }) });
  const ask = {
    type: "tool-deleteFile",
    toolCallId: "c1",
    state: "approval-requested",
    input: { path: "a" },
  };
  const parts = [{ type: "step-start" }, { ...ask, approval: { id: "x" } }];
  const waiting = { id: "a1", role: "assistant", parts } as unknown as UIMessage;
  await chats.of("ada").create({ id: "c", messages: [user("q1"), waiting] });
  const errors: unknown[] = [];
  const { model } = scriptedProvider("openai", []);
  const chat = createChatHandler({ chats, model, tools, onError: (error) => void errors.push(error) });
  for (const id of ["q2", "q3"]) {
    const body = JSON.stringify({ id: "c", message: user(id) });
    await (
      await chat.fetch(new Request("http://h/api/chat", { method: "POST", body }), { owner: "ada" })
    ).text();
  }
  expect(errors).toMatchObject([{ code: "INVALID_STATE", message: expect.stringContaining("the call c1") }]);
});

test("closeAnswer: the last step loses its item ids and the results of the provider's tools; other metadata stays", () => {
  const { closeAnswer } = uiMessages();
  const answer = (...parts: object[]) => ({ id: "a", role: "assistant", parts }) as UIMessage;
  const whole = { type: "text", text: "whole", providerMetadata: { openai: { itemId: "id" } } };
  const searched = {
    ...{ type: "tool-web_search", toolCallId: "ws_1", state: "output-available", input: {}, output: {} },
    providerExecuted: true,
  };
  const step = { type: "step-start" };
  const reasoning = (openai: object) => ({ type: "reasoning", text: "r", providerMetadata: { openai } });
  const text = (metadata: object) => ({
    type: "text",
    text: "t",
    providerMetadata: { ...metadata, other: { a: 1 } },
  });
  const last = [reasoning({ itemId: "id", encrypted: "e" }), searched, text({ openai: { itemId: "id" } })];
  expect(closeAnswer(answer(step, whole, step, ...last))).toEqual(
    answer(step, whole, step, reasoning({ encrypted: "e" }), text({})),
  );
  const unstored = answer(searched, { type: "text", text: "t" });
  expect(closeAnswer(unstored)).toEqual(unstored);
});
