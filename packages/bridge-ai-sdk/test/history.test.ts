import { convertToModelMessages, tool, type UIMessage } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { uiMessages, uiMessageTraits } from "../src/index.ts";
import { scriptedModel, scriptedTools } from "./scripted-model.ts";
import { answer, serve, textIn, user } from "./serve.ts";

const tools = scriptedTools({ deleted: [] });
const message = (...parts: unknown[]) => ({ id: "a", role: "assistant", parts }) as UIMessage;
const call = (state: string, fields: object = {}) => ({
  type: "tool-lookUp",
  toolCallId: "1",
  state,
  input: { word: "x" },
  ...fields,
});
const client = (state: string, fields: object = {}) => ({
  ...call(state, fields),
  type: "tool-askUser",
  input: { question: "x" },
});

test("closeAnswer: interrupted calls become errors, parts that wait for the user are kept, and the SDK accepts the result", async () => {
  const { closeAnswer } = uiMessages({ tools });
  const error = { state: "output-error", errorText: "Interrupted; it may have run." };
  const approval = { id: "x", approved: true };
  const parts: [object, object | undefined][] = [
    [
      { type: "text", text: "a", state: "streaming" },
      { type: "text", text: "a", state: "done" },
    ],
    [
      { type: "reasoning", text: "a", state: "streaming" },
      { type: "reasoning", text: "a", state: "done" },
    ],
    [
      { type: "text", text: "a" },
      { type: "text", text: "a" },
    ],
    [{ ...call("input-streaming"), rawInput: "{" }, undefined],
    [call("input-available"), call("", error)],
    [call("approval-responded", { approval }), call("", { approval, ...error })],
    [call("output-available", { output: 1, preliminary: true }), call("", error)],
    [call("output-available", { output: 1 }), call("output-available", { output: 1 })],
    [
      call("approval-requested", { approval: { id: "x" } }),
      call("approval-requested", { approval: { id: "x" } }),
    ],
    [
      call("approval-responded", { approval: { id: "x", approved: false } }),
      call("output-denied", { approval: { id: "x", approved: false } }),
    ],
    [client("input-available"), client("input-available")],
    [client("approval-responded", { approval }), client("approval-responded", { approval })],
    [client("input-available", { providerExecuted: true }), client("", { providerExecuted: true, ...error })],
    [
      { ...call("input-available"), type: "tool-gone" },
      { ...call("", error), type: "tool-gone" },
    ],
    [
      { ...call("input-available"), type: "dynamic-tool", toolName: "mcp" },
      { ...call("", error), type: "dynamic-tool", toolName: "mcp" },
    ],
  ];
  for (const [part, settled] of parts) {
    const [made] = closeAnswer(message(part)).parts;
    expect(made).toEqual(settled);
    if (made) await convertToModelMessages([message(made)], { ignoreIncompleteToolCalls: true });
  }
});

test("uiMessages: check, and the text for lists", () => {
  const { check, preview } = uiMessages();
  expect(check(user("q"))).toBeUndefined();
  for (const invalid of [
    null,
    "text",
    { ...user("q"), id: 1 },
    { ...user("q"), role: "tool" },
    { ...user("q"), parts: 1 },
  ])
    expect(check(invalid)).toEqual(expect.any(String));
  expect(check({ ...user("q"), parts: [{ text: "x" }] })).toContain("parts[0]");
  expect(
    preview(message({ type: "text", text: "a" }, { type: "step-start" }, { type: "text", text: "b" })),
  ).toBe("a\nb");
  expect(preview(message({ type: "file", mediaType: "image/png", url: "" }))).toBe("image/png");
});

test("uiMessageTraits: a store of plain UI messages is trimmed by turns", async () => {
  const { createMemoryStores } = await import("@scrollback/store-core");
  await using stores = createMemoryStores<UIMessage>({ traits: uiMessageTraits, maxMessages: 3 });
  const store = stores.open("t");
  await store.addMessages([user("q1"), answer("a1"), user("q2"), answer("a2")]);
  expect(await store.listMessages()).toEqual([user("q2"), answer("a2")]);
  const compaction = { type: "custom", kind: "openai.compaction", providerMetadata: { openai: {} } } as const;
  const compacted: UIMessage = { ...answer("a3"), parts: [compaction, ...answer("a3").parts] };
  await store.addMessages([user("q3"), compacted, user("q4"), answer("a4")]);
  expect(await store.listMessages()).toEqual([compacted, user("q4"), answer("a4")]);
  await expect(store.addMessages([{ id: "x", role: "user" } as never])).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
});

test("an old message never blocks a chat: calls of removed or changed tools, unknown data and metadata", async () => {
  const model = scriptedModel();
  const old = message(
    { type: "text", text: "kept" },
    { ...call("output-available", { output: "gone result" }), type: "tool-gone", toolCallId: "1" },
    { ...call("input-available"), type: "tool-gone", toolCallId: "2" },
    { ...call("output-available", { output: "changed result" }), toolCallId: "3", input: { other: 1 } },
    { ...call("input-available"), toolCallId: "4", input: { other: 1 } },
    { type: "data-gone", data: 1 },
    { type: "unknown-kind", x: 1 },
  );
  await using server = await serve({
    model,
    dataSchemas: { known: z.string() },
    metadataSchema: z.object({ at: z.number() }).optional(),
  });
  await server.mine.create({ id: "c", messages: [user("q"), { ...old, metadata: "old" }] });
  const { status, chunks } = await server.post({ id: "c", message: user("q2", "say hello") });
  expect([status, textIn(chunks)]).toEqual([200, "hello "]);
  const prompt = JSON.stringify(model.doStreamCalls[0]?.prompt);
  for (const text of ["kept", "changed result", "gone result"]) expect(prompt).toContain(text);
  expect(prompt).not.toContain('"toolCallId":"2"');
  expect(prompt).not.toContain('"toolCallId":"4"');
  expect((await server.stored("c"))?.[1]).toEqual({ ...old, metadata: "old" });
  const unfit = { ...user("q3"), metadata: { at: "now" } };
  expect(await server.post({ id: "c", message: unfit })).toMatchObject({ status: 400 });
  const data = { ...user("q3"), parts: [{ type: "data-known", data: 7 }] };
  expect(await server.post({ id: "c", message: data })).toMatchObject({ status: 400 });
});

test("a chat has no system message: the SDK refuses it in a history", async () => {
  await using server = await serve();
  const system = { id: "s", role: "system", parts: [{ type: "text", text: "Be brief." }] } as UIMessage;
  await expect(server.mine.create({ id: "c", messages: [system] })).rejects.toMatchObject({
    ...{ code: "INVALID_ARGUMENT", message: expect.stringContaining(`role must be "user" or "assistant"`) },
  });
});

test("a toModelOutput that fails for an old output does not block a chat, and is reported once", async () => {
  const model = scriptedModel();
  const broken = tool({
    inputSchema: z.object({ word: z.string() }),
    execute: async () => "x",
    toModelOutput: ({ output }) => ({
      type: "text",
      value: (output as unknown as { items: string[] }).items.join(),
    }),
  });
  await using server = await serve({ model, tools: { lookUp: broken as never } });
  const old = message({
    ...call("output-available", { output: { old: 1 }, input: { word: "x" } }),
    toolCallId: "1",
  });
  await server.mine.create({ id: "c", messages: [user("q"), old] });
  for (const id of ["q2", "q3"])
    expect(textIn((await server.post({ id: "c", message: user(id, "say hello") })).chunks)).toBe("hello ");
  expect(JSON.stringify(model.doStreamCalls[0]?.prompt)).toContain('"value":{"old":1}');
  expect(server.errors).toMatchObject([{ code: "INVALID_STATE", cause: expect.any(TypeError) }]);
});

test("an approval that was answered, but whose tool never ran, is not sent to the model", async () => {
  const model = scriptedModel();
  const pending = message(call("approval-responded", { approval: { id: "x", approved: true } }));
  await using server = await serve({ model });
  await server.mine.create({ id: "c", messages: [user("q"), pending] });
  expect((await server.post({ id: "c", message: user("q2", "say hello") })).status).toBe(200);
  expect(JSON.stringify(model.doStreamCalls[0]?.prompt)).not.toContain("tool-call");
  expect(server.errors).toMatchObject([{ code: "INVALID_STATE" }]);
});

test("a reducer shortens the model's input, and no stored message", async () => {
  const model = scriptedModel();
  let signal: AbortSignal | undefined;
  await using server = await serve({
    model,
    instructions: "Be short.",
    reducer: {
      async reduce(messages, options) {
        signal = options.signal;
        return messages.slice(-1);
      },
    },
  });
  await server.mine.create({ id: "c", messages: [user("q1"), answer("a1")] });
  await server.post({ id: "c", message: user("q2", "say hello") });
  expect(model.doStreamCalls[0]?.prompt).toMatchObject([
    { role: "system", content: "Be short." },
    { role: "user", content: [{ text: "say hello" }] },
  ]);
  expect(signal).toBeInstanceOf(AbortSignal);
  expect(await server.stored("c")).toHaveLength(4);
});

test("unknown fields of a message are not stored; valid metadata and data are", async () => {
  await using server = await serve({
    metadataSchema: z.object({ at: z.number() }),
    dataSchemas: { place: z.object({ city: z.string() }) },
    tools: { none: tool({ inputSchema: z.object({}) }) },
  });
  const parts = [
    { type: "text", text: "say hi", extra: 1 },
    { type: "data-place", data: { city: "Rome" } },
  ];
  await server.post({ id: "c", message: { ...user("q"), parts, metadata: { at: 1 }, createdAt: 5 } });
  expect((await server.stored("c"))?.[0]).toEqual({
    id: "q",
    role: "user",
    metadata: { at: 1 },
    parts: [{ type: "text", text: "say hi" }, parts[1]],
  });
});

test("null in an optional field of a stored part counts as absent for the model", async () => {
  const model = scriptedModel();
  const found = call("output-available", { output: "KEPT" });
  const error = { state: "output-error", output: null, approval: null };
  const parts = [
    { type: "text", text: "KEPT", providerMetadata: null, state: null, citations: null },
    { type: "text", text: "KEPT", providerMetadata: { openai: null } },
    { ...found, callProviderMetadata: null, resultProviderMetadata: null, preliminary: null },
    { ...found, toolCallId: "2", title: null, errorText: null, rawInput: null, providerExecuted: null },
    { ...found, toolCallId: "3", approval: { id: "x", approved: true, reason: null, isAutomatic: null } },
    { ...call("", error), toolCallId: "4", errorText: "KEPT" },
    { ...call("", error), toolCallId: "5", errorText: null },
    { ...found, type: "dynamic-tool", toolName: "gone", toolCallId: "6", input: null, title: null },
    { type: "file", mediaType: "text/plain", url: "data:text/plain;base64,S0VQVA==", filename: null },
    { type: "steering-message", id: "s", parts: [{ type: "text", text: "KEPT", providerMetadata: null }] },
  ];
  await using server = await serve({ model });
  await server.mine.create({ id: "c", messages: [user("q"), message(...parts)] });
  await server.post({ id: "c", message: user("q2", "say hello") });
  const prompt = JSON.stringify(model.doStreamCalls[0]?.prompt);
  expect(prompt.match(/KEPT|S0VQVA==/g)).toHaveLength(parts.length - 1);
  for (const id of ["1", "2", "3", "4", "5", "6"])
    expect(prompt.split(`"toolCallId":"${id}"`)).toHaveLength(3);
  expect((await server.stored("c"))?.[1]?.parts).toEqual(parts);
});

test("a reducer that cuts a call from its result: the model gets neither, and onError hears of it once a chat", async () => {
  const model = scriptedModel();
  const found = message(call("output-available", { output: "found" }), { type: "text", text: "so" });
  await using server = await serve({
    model,
    reducer: { reduce: async (messages) => messages.filter(({ role }) => role !== "assistant") },
  });
  for (const id of ["c", "d"]) {
    await server.mine.create({ id, messages: [user("q"), found] });
    for (const text of ["say one", "say two"]) await server.post({ id, message: user(text, text) });
  }
  for (const { prompt } of model.doStreamCalls)
    expect(prompt.every(({ role }) => role === "user")).toBe(true);
  expect(server.errors.map(String)).toEqual(
    ["c", "d"].map((id) => expect.stringContaining(`the result 1 (thread ada/${id})`)),
  );
});

test("messages of only data, and empty texts, are sent as a note or left out", async () => {
  const model = scriptedModel();
  await using server = await serve({ model, dataSchemas: { place: z.unknown() } });
  const data = { ...user("q"), parts: [{ type: "data-place", data: 1 }] };
  const empty = { ...message({ type: "step-start" }, { type: "text", text: " " }), id: "e" };
  const messages = [data, answer("a1"), { ...user("q2"), parts: [] }, empty, user("q3", " ")] as UIMessage[];
  await server.mine.create({ id: "c", messages });
  expect((await server.post({ id: "c", message: user("q4", "say hello") })).status).toBe(200);
  const note = { role: "user", content: [{ type: "text", text: "(a message without text)" }] };
  const prompt = model.doStreamCalls[0]?.prompt;
  expect(prompt).toMatchObject([note, { role: "assistant" }, note, note, { role: "user" }]);
});
